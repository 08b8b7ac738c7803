import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createBlankDatabase, type TestDatabase } from '../../test/support/test-database.js';
import { createDataSource } from './data-source.js';
import { migrate } from './migrate.js';

let database: TestDatabase;
let dataSource: DataSource;

beforeAll(async () => {
  database = await createBlankDatabase();
  await migrate(database.url);
  dataSource = await connect(database);
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

const connect = ({ url }: TestDatabase) => createDataSource({ url, poolSize: 2 }).initialize();

/** TypeORM knows of no triggers, functions and views. */
const IN_SQL_ALONE = /^(trigger|function|v|column object_references\.)/;

describe('the migrations', () => {
  it('make the schema that the entities describe', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('make what TypeORM would make of the entities, to the letter', async () => {
    // The comparison above knows constraints by their names alone, and nothing of tables without an entity.
    const other = await createBlankDatabase();
    const otherSource = await connect(other);
    try {
      await otherSource.synchronize();
      const indescribable = dataSource.entityMetadatas.flatMap(({ indices }) =>
        indices.filter((index) => !index.synchronize).map((index) => index.name),
      );
      const schema = (await describeSchema(dataSource)).filter(
        (line) => !IN_SQL_ALONE.test(line) && !indescribable.some((name) => line.includes(` ${name} `)),
      );
      expect(schema).toEqual(await describeSchema(otherSource));
    } finally {
      await otherSource.destroy();
      await other.drop();
    }
  });

  it('have nothing to do a second time', async () => {
    expect(await migrate(database.url)).toEqual([]);
  });

  it('are undone by their opposites, one by one, and can be applied again', async () => {
    const { migrations } = dataSource;
    expect(migrations.length).toBeGreaterThan(0);
    const runner = dataSource.createQueryRunner();
    /** The schema with the first so many migrations. */
    const schemas = new Map([[migrations.length, await describeSchema(dataSource)]]);
    try {
      for (let count = migrations.length; count > 0; count--) {
        await migrations[count - 1]!.down(runner);
        schemas.set(count - 1, await describeSchema(dataSource));
      }
      expect(schemas.get(0)).toEqual([]);
      for (let count = 1; count <= migrations.length; count++) {
        const migration = migrations[count - 1]!;
        await migration.up(runner);
        expect({ after: migration.name, schema: await describeSchema(dataSource) }).toEqual({
          after: migration.name,
          schema: schemas.get(count),
        });
        // Each brings something, or its opposite would have nothing to undo.
        expect(schemas.get(count)).not.toEqual(schemas.get(count - 1));
      }
    } finally {
      await runner.release();
    }
  });
});

/** All that a migration can make, in words of PostgreSQL's own; without the order of columns, which no query depends on. */
async function describeSchema(dataSource: DataSource): Promise<string[]> {
  const rows = await dataSource.query<{ line: string }[]>(
    `WITH ours AS (
       SELECT c.* FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.oid NOT IN (
          SELECT oid FROM pg_class WHERE relname = 'migrations'
          UNION SELECT d.objid FROM pg_depend d JOIN pg_class m ON m.oid = d.refobjid AND m.relname = 'migrations'
          UNION SELECT i.indexrelid FROM pg_index i JOIN pg_class m ON m.oid = i.indrelid AND m.relname = 'migrations')
     )
     SELECT format('%s %s %s', relkind, relname, reloptions) AS line FROM ours
     UNION ALL
     SELECT format('column %s.%s %s %s %s %s %s', o.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                   a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
       FROM ours o JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
       LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE o.relkind IN ('r', 'p', 'v', 'm')
     UNION ALL
     SELECT format('constraint %s.%s %s', o.relname, c.conname, pg_get_constraintdef(c.oid))
       FROM pg_constraint c JOIN ours o ON o.oid = c.conrelid
     UNION ALL
     SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN ours o ON o.oid = i.indrelid
     UNION ALL
     SELECT format('trigger %s', pg_get_triggerdef(t.oid))
       FROM pg_trigger t JOIN ours o ON o.oid = t.tgrelid WHERE NOT t.tgisinternal
     UNION ALL
     SELECT format('function %s', pg_get_functiondef(p.oid))
       FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind IN ('f', 'p')
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
     UNION ALL
     SELECT format('type %s %s %s', t.typname, t.typtype, (SELECT array_agg(e.enumlabel ORDER BY e.enumsortorder)
                                                         FROM pg_enum e WHERE e.enumtypid = t.oid))
       FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typtype IN ('e', 'd', 'r')
     UNION ALL
     SELECT format('extension %s', e.extname) FROM pg_extension e WHERE e.extname NOT IN ('plpgsql', 'pg_trgm')
     ORDER BY line`,
  );
  return rows.map((row) => row.line);
}
