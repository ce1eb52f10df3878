// Usage: node check.mjs FILE.glb...    Ends with 1 if the validator finds an error in any of them.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import validator from "gltf-validator";

let errors = 0;
for (const file of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(file)));
  const wrong = report.issues.messages.filter((message) => message.severity === 0);
  errors += wrong.length;
  console.log(`${basename(file)}: ${report.issues.numErrors} errors, ${report.issues.numWarnings} warnings`);
  for (const { code, pointer, message } of wrong) console.log(`  ${code} ${pointer} ${message}`);
}
process.exitCode = errors > 0 || process.argv.length < 3 ? 1 : 0;
