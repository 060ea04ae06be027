"""Which tenants' ledgers do not add up to what was settled? Three lines for the model; the rows stay in the box."""

from decimal import Decimal

from casemate import tools

TENANTS = [f"acme-{n:02}" for n in range(1, 15)]

for tenant in TENANTS:
    entries = tools.ledger.read(tenant=tenant)
    settled = tools.settlement.read(tenant=tenant)
    posted = {e["id"]: e for e in entries if e["state"] == "posted"}
    booked = sum((Decimal(e["amount"]) for e in posted.values()), Decimal(0))
    currencies = {e["currency"] for e in posted.values()}
    if (booked, currencies) != (settled["amount"], {settled["currency"]}):
        print(f"{tenant}: booked {booked} {'/'.join(sorted(currencies))}, settled {settled['amount']} {settled['currency']}")
