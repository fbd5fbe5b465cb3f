/** Runs the named recipes in sequence. One process per recipe would cost more than the recipes themselves. */
for (const name of process.argv.slice(2)) {
  process.stderr.write(`recipe ${name}\n`);
  await import(`../fixtures/recipes/${name}.ts`);
}
