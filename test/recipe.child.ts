/** Runs the recipes that are named, one after the other: a process of each would cost more than they do. */
for (const name of process.argv.slice(2)) {
  process.stderr.write(`recipe ${name}\n`);
  await import(`../fixtures/recipes/${name}.ts`);
}
