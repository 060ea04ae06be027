"""Fourteen tenants: what each has booked, and what was settled. Three of them do not agree.

The traps are in what looks different and is equal, and in what looks equal and is different:

    acme-02   0.1 + 0.2: as floats it is not 0.3
    acme-03   settled as 1E+3, booked as 1000.00
    acme-04   one entry was sent twice; an entry counts once, by its id
    acme-05   a void entry of NaN, which does not count
    acme-06   a refund: its amount is negative, and so is the sum
    acme-08   amounts that no float tells apart from their neighbours
    acme-07   MISMATCH: settled in another currency, the same number
    acme-10   MISMATCH: an entry is missing in the settlement, one cent
    acme-13   MISMATCH: a refund that was settled as a payment
"""

from __future__ import annotations

from typing import Any

MISMATCHES = ["acme-07", "acme-10", "acme-13"]
ENTRIES = 120  # of a tenant without traps

Entry = dict[str, Any]


def entry(number: int, amount: str, currency: str = "EUR", state: str = "posted") -> Entry:
    return {"id": f"e{number}", "amount": amount, "currency": currency, "state": state}


def plain(tenant: int) -> list[Entry]:
    return [entry(n, f"{(n * 37 + tenant * 11) % 900}.{(n * 13 + tenant) % 100:02}") for n in range(ENTRIES)]


def cents(entries: list[Entry]) -> str:
    """The sum of plain entries: in cents, so that this file needs no arithmetic that it is to test."""
    total = sum(int(e["amount"].replace(".", "")) for e in entries)
    return f"{total // 100}.{total % 100:02}"


LEDGERS: dict[str, list[Entry]] = {f"acme-{n:02}": plain(n) for n in range(1, 15)}
SETTLED: dict[str, dict[str, str]] = {
    tenant: {"amount": cents(entries), "currency": "EUR"} for tenant, entries in LEDGERS.items()
}

LEDGERS["acme-02"] = [entry(1, "0.1"), entry(2, "0.2")]
SETTLED["acme-02"] = {"amount": "0.3", "currency": "EUR"}
LEDGERS["acme-03"] = [entry(1, "999.99"), entry(2, "0.01")]
SETTLED["acme-03"] = {"amount": "1E+3", "currency": "EUR"}
LEDGERS["acme-04"] = [entry(1, "12.50"), entry(2, "7.25"), entry(2, "7.25")]
SETTLED["acme-04"] = {"amount": "19.75", "currency": "EUR"}
LEDGERS["acme-05"] = [entry(1, "5.00"), entry(2, "NaN", state="void"), entry(3, "6.00")]
SETTLED["acme-05"] = {"amount": "11", "currency": "EUR"}
LEDGERS["acme-06"] = [entry(1, "10.00"), entry(2, "-25.00")]
SETTLED["acme-06"] = {"amount": "-15.0", "currency": "EUR"}
LEDGERS["acme-08"] = [entry(1, "100000000000000000.01"), entry(2, "0.02")]
SETTLED["acme-08"] = {"amount": "100000000000000000.03", "currency": "EUR"}
SETTLED["acme-07"]["currency"] = "USD"
LEDGERS["acme-10"].append(entry(900, "0.01"))
LEDGERS["acme-13"].append(entry(900, "-40.00"))
SETTLED["acme-13"]["amount"] = cents([*plain(13), entry(900, "40.00")])

MANY = 1000  # tenants there are. Those after the fourteenth have no traps: the curve of calls needs many


def _has_no_traps(tenant: str) -> int:
    """The number of one of the many. Raises LookupError."""
    number = tenant.removeprefix("acme-")
    if not (number.isdecimal() and len(LEDGERS) < int(number) <= MANY):
        raise LookupError(f"there is no tenant {tenant}")
    return int(number)


def ledger(tenant: str) -> list[Entry]:
    """Raises LookupError."""
    return LEDGERS[tenant] if tenant in LEDGERS else plain(_has_no_traps(tenant))


def settled(tenant: str) -> dict[str, str]:
    """Raises LookupError."""
    if tenant in SETTLED:
        return SETTLED[tenant]
    return {"amount": cents(plain(_has_no_traps(tenant))), "currency": "EUR"}
