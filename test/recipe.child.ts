/** Runs the recipe that is named: bundled with all of them, it starts several times as fast as from the sources. */
await import(`../fixtures/recipes/${process.argv[2]}.ts`);
