// Counts tokens: reads one JSON string a line, writes one number a line. count_tokens.mjs NODE_MODULES
// Text that looks like a control token is text here: what a tool returns may hold anything.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { countTokens } = require("gpt-tokenizer/encoding/o200k_base");

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  console.log(countTokens(JSON.parse(line), { disallowedSpecial: new Set() }));
}
