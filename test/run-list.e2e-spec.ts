import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Clock } from '../src/kernel/clock.js';
import { Database, Tx } from '../src/kernel/persistence/database.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { artifactFacet } from '../src/runs/domain/run-facets.js';
import { OwnerShares } from '../src/runs/persistence/owner-shares.js';
import { RunList } from '../src/runs/persistence/run-list.js';
import { RunRepository, type RunToInsert } from '../src/runs/persistence/run.repository.js';
import { RunTransitions, TOUCHED } from '../src/runs/persistence/run-transitions.js';
import { RunSearch } from '../src/runs/persistence/run-search.js';
import { insertTeam, insertUser, type TestUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let team: string;
let member: TestUser;
let reader: RunsClient;

beforeAll(async () => {
  server = await startTestApp({ ROLES: 'api' });
});
afterAll(async () => {
  await server.close();
});

/** A new team and its only member, so that each test has a list of its own. */
async function anotherTeam(): Promise<void> {
  team = await insertTeam(server.dataSource);
  member = await insertUser(server.dataSource, { teams: [team] });
  reader = new RunsClient(server, member.headers);
}

interface Columns {
  state: string;
  created_at: string;
  updated_at: string;
}

/** Runs of the team by their insert, each then changed to what only time brings about. Their order is that of their ids. */
async function insert(runs: (Partial<RunToInsert> & Partial<Columns>)[]): Promise<string[]> {
  const { app, dataSource } = server;
  const rows = runs.map((run) => ({
    id: randomUUID(),
    title: 'A run',
    prompt: 'Do something',
    agent_config: {},
    agent_skill: null,
    team_uid: team,
    owner_uid: null,
    creator_uid: member.uid,
    executor_uid: member.uid,
    source: 'API' as const,
    worker_host: null,
    config_name: null,
    model_id: null,
    environment_id: null,
    skill_spec: null,
    metadata: {},
    conversation_id: null,
    mode: 'normal' as const,
    interactive: false,
    schedule_id: null,
    schedule_name: null,
    cron_schedule: null,
    parent_run_id: null,
    ancestor_ids: [],
    origin_key: null,
    self_executed: false,
    ...run,
  }));
  await app.get(Transactor).run((tx) => app.get(RunRepository).insert(tx, rows));
  for (const { id, state, created_at, updated_at } of rows) {
    await dataSource.query(
      `UPDATE runs SET state = coalesce($2, state), created_at = coalesce($3, created_at), updated_at = coalesce($4, updated_at)
        WHERE id = $1`,
      [id, state, created_at, updated_at],
    );
    if (created_at === undefined) continue;
    await dataSource.query(
      `UPDATE run_search SET created_at = $2::timestamptz, facets = ARRAY(SELECT f FROM unnest(facets) f WHERE f !~ '^(day|month):')
              || ARRAY['day:' || left($3, 10), 'month:' || left($3, 7)] WHERE run_id = $1`,
      [id, created_at, created_at],
    );
  }
  return rows.map((row) => row.id);
}

const idsOf = async (query: string): Promise<string[]> =>
  (await reader.list(query)).runs.map((run) => run.run_id);

/** All pages. */
async function walk(
  query: string,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await reader.list(`${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`);
    ids.push(...page.runs.map((run) => run.run_id));
    cursor = page.page_info.next_cursor;
    await between();
  } while (cursor !== undefined);
  return ids;
}

const ENVIRONMENT = 'q3vZ8LwT1nRk5YxB7cMd2F';
const SKILL = 'acme/shop:skills/release/SKILL.md';
const LONG = 'x'.repeat(250);

/** One that matches every filter, and for each filter what one that does not match has instead. */
const MATCH = {
  state: 'FAILED',
  config_name: 'nightly',
  model_id: 'model-1',
  creator_uid: '019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e44',
  executor_uid: '019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e45',
  source: 'LOCAL' as const,
  environment_id: ENVIRONMENT,
  skill_spec: SKILL,
  schedule_id: '019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e46',
  metadata: { ticket: 'OPS-1', 'a.b_c-D9': LONG, constructor: 'é=&?' },
  title: 'Repair the kubernetes cluster',
  created_at: '2026-03-10T12:00:00.123Z',
  updated_at: '2026-03-10T12:30:00.500Z',
};
const FILTERS: [query: string, other: Partial<RunToInsert> & Partial<Columns>][] = [
  ['state=FAILED', { state: 'ERROR' }],
  ['state=FAILED&state=CANCELLED', { state: 'ERROR' }],
  ['name=nightly', { config_name: 'Nightly' }],
  ['model_id=model-1', { model_id: null }],
  [`creator=${MATCH.creator_uid.toUpperCase()}`, { creator_uid: randomUUID() }],
  [`executor=${MATCH.executor_uid}`, { executor_uid: randomUUID() }],
  ['source=LOCAL', { source: 'API' }],
  ['execution_location=LOCAL', { source: 'CLI' }],
  [`environment_id=${ENVIRONMENT}`, { environment_id: null }],
  [`skill=${SKILL}`, { skill_spec: null }],
  [`skill_spec=${SKILL}`, { skill_spec: 'acme/shop:other' }],
  [`schedule_id=${MATCH.schedule_id}`, { schedule_id: randomUUID() }],
  ['created_after=2026-03-10T12:00:00.122Z', { created_at: '2026-03-10T12:00:00.122Z' }],
  ['created_before=2026-03-10T13:00:00.1231%2B01:00', { created_at: '2026-03-10T12:00:00.124Z' }],
  ['updated_after=2026-03-10T12:30:00.4999Z', { updated_at: '2026-03-10T12:30:00.499Z' }],
  ['metadata[ticket]=OPS-1', { metadata: { ticket: 'OPS-10' } }],
  [`metadata%5Ba.b_c-D9%5D=${LONG}`, { metadata: { 'a.b_c-D9': `${LONG}y` } }],
  ['metadata[constructor]=%C3%A9%3D%26%3F', { metadata: {} }],
  ['q=kubernetis', { title: 'Repair the cluster' }],
];

/** Lists are read in several ways: what little there is in a test is scanned, unless that is left out. */
const WAYS = ['scanned', 'by the index', 'by the index without the owners'] as const;
function readLists(way: (typeof WAYS)[number]): void {
  let depths: RunList['scanDepths'];
  let share: OwnerShares['of'];
  beforeAll(() => {
    const [list, shares] = [server.app.get(RunList), server.app.get(OwnerShares)];
    depths = list.scanDepths;
    share = shares.of;
    if (way !== 'scanned') list.scanDepths = () => [];
    if (way === 'by the index without the owners') shares.of = () => Promise.resolve(1);
  });
  afterAll(() => {
    server.app.get(RunList).scanDepths = depths;
    server.app.get(OwnerShares).of = share;
  });
}

describe.each(WAYS)('a filter, %s,', (way) => {
  readLists(way);

  it.each(FILTERS)('%s finds what matches and nothing else', async (query, other) => {
    await anotherTeam();
    const [match] = await insert([MATCH, { ...MATCH, ...other }]);
    expect(await idsOf('')).toHaveLength(2);
    for (const sort of ['updated_at', 'created_at', 'title', 'agent']) {
      for (const order of ['asc', 'desc']) {
        expect(await idsOf(`${query}&sort_by=${sort}&sort_order=${order}`)).toEqual([match]);
      }
    }
  });

  it('is combined with all the others', async () => {
    await anotherTeam();
    const [match] = await insert([MATCH, ...FILTERS.map(([, other]) => ({ ...MATCH, ...other }))]);
    expect(
      await idsOf(
        FILTERS.map(([query]) => query)
          .filter((q) => !q.startsWith('state=FAILED&'))
          .join('&'),
      ),
    ).toEqual([match]);
  });

  it('finds what matches among runs that were created before signatures', async () => {
    await anotherTeam();
    const [match] = await insert([MATCH, { ...MATCH, source: 'API', title: 'Something else' }]);
    await server.dataSource.query(`UPDATE run_search SET signature = decode(repeat('ff', 64), 'hex')`);
    for (const query of ['source=LOCAL', 'q=kubernetis']) {
      expect(await idsOf(`${query}&sort_by=title`)).toEqual([match]);
    }
  });

  it('by states pages in the order of titles', async () => {
    await anotherTeam();
    const titles = ['b', 'a', 'é', 'b', 'B', 'c', 'a', 'ab', 'b'];
    const states = ['FAILED', 'BLOCKED', 'FAILED', 'ERROR'];
    const runs = titles.flatMap((title) => states.map((state) => ({ title, state })));
    const ids = await insert(runs);
    const wanted = runs
      .map((run, index) => ({ ...run, id: ids[index] ?? '' }))
      .filter(({ state }) => state !== 'ERROR')
      .sort((a, b) => Buffer.compare(Buffer.from(a.title), Buffer.from(b.title)) || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
    const query = 'state=FAILED&state=BLOCKED&sort_by=title&limit=4';
    expect(await walk(`${query}&sort_order=asc`)).toEqual(wanted);
    expect(await walk(`${query}&sort_order=desc`)).toEqual(wanted.reverse());
  });

  it('finds runs without an environment', async () => {
    await anotherTeam();
    const [without] = await insert([{}, { environment_id: ENVIRONMENT }]);
    expect(await idsOf('environment_id=empty-environment')).toEqual([without]);
  });

  it('finds all descendants of a run, and is a 404 for one that the caller may not know of', async () => {
    await anotherTeam();
    const [foreign] = await insert([{}]);
    await anotherTeam();
    const [parent] = await insert([{}]);
    const [child] = await insert([{ ancestor_ids: [parent!] }]);
    const [grandchild] = await insert([{ ancestor_ids: [child!, parent!] }]);
    await insert([{}]);
    expect(new Set(await idsOf(`ancestor_run_id=${parent!.toUpperCase()}`))).toEqual(
      new Set([child, grandchild]),
    );
    expect(await idsOf(`ancestor_run_id=${grandchild!}`)).toEqual([]);
    for (const unknown of [foreign, randomUUID()]) {
      expect((await reader.call('GET', `runs?ancestor_run_id=${unknown!}`)).status).toBe(404);
    }
  });

  it('finds runs with an artifact', async () => {
    await anotherTeam();
    const [run] = await insert([{}, {}]);
    const { app } = server;
    for (let time = 0; time < 2; time++) {
      await app.get(Transactor).run((tx) => app.get(RunSearch).addFacet(tx, run!, artifactFacet('PLAN')));
    }
    expect(await idsOf('artifact_type=PLAN')).toEqual([run]);
    expect(await idsOf('artifact_type=FILE')).toEqual([]);
    expect(
      await server.dataSource.query(
        `SELECT count(*)::int FROM run_search, unnest(facets) f WHERE f = 'artifact:PLAN' AND run_id = $1`,
        [run],
      ),
    ).toEqual([{ count: 1 }]);
  });

  it('applies to what the active team and the caller own, and to nothing else', async () => {
    await anotherTeam();
    await insert([{ title: 'zebra of others' }]);
    await anotherTeam();
    const ids = await insert([
      { title: 'zebra of the team' },
      { title: 'zebra of the caller', team_uid: null, owner_uid: member.uid },
      { title: 'zebra of another member', team_uid: null, owner_uid: randomUUID() },
    ]);
    for (const sort of ['updated_at', 'created_at', 'title', 'agent']) {
      expect(new Set(await idsOf(`sort_by=${sort}&q=zebra`))).toEqual(new Set(ids.slice(0, 2)));
      expect(new Set(await idsOf(`sort_by=${sort}`))).toEqual(new Set(ids.slice(0, 2)));
    }
  });
});

describe.each(WAYS)('a search, %s,', (way) => {
  readLists(way);

  it.each([
    ['kubernetis', 'Fix Kubernetes ingress'],
    ['flamngo', 'Feed the flamingo'],
    ['pagnation', 'Repair pagination, again'],
    ['relaese', 'A release'],
    ['tset', 'Run the test suite'],
    ['ci', 'Why is CI red?'],
    ['pagi', 'Repair pagination'],
    ['INGRESS kubernets', 'Fix Kubernetes ingress'],
    ['sk/rel', 'skills/release'],
    ['Straße', 'Die STRASSE? Nein: die straße'],
    ['日本', '日本語のテスト'],
    ['cafe\u0301', 'The café'],
  ])('for %s finds "%s"', async (q, title) => {
    await anotherTeam();
    const [match] = await insert([{ title }, { title: 'Nothing of interest' }]);
    expect(await idsOf(`q=${encodeURIComponent(q)}`)).toEqual([match]);
  });

  it('looks into the prompt and the skill', async () => {
    await anotherTeam();
    const ids = await insert([
      { prompt: `${'word '.repeat(1000)}aardvark` },
      { skill_spec: 'acme/aardvark:SKILL.md' },
      {},
    ]);
    expect(new Set(await idsOf('q=aardvrk'))).toEqual(new Set(ids.slice(0, 2)));
  });

  it.each(['zzzzqqqq', '!!!', '%25_%25', "'%20|%20!%20:*"])('for %s finds nothing', async (q) => {
    await anotherTeam();
    await insert([{}]);
    expect(await idsOf(`q=${q}`)).toEqual([]);
  });

  it('for nothing is no filter', async () => {
    await anotherTeam();
    expect(await insert([{}])).toEqual(await idsOf('q=%20'));
  });

  it('never keeps runs with the same new words from being created at the same time', async () => {
    await anotherTeam();
    const words = Array.from({ length: 300 }, () => randomUUID().replace(/[0-9-]/g, ''));
    const texts = Array.from({ length: 16 }, (_, n) =>
      (n % 2 === 0 ? words : [...words].reverse()).join(' '),
    );
    const created = texts.map((prompt) => insert([{ prompt }, { prompt: `${prompt} again` }]));
    expect((await Promise.all(created)).flat()).toHaveLength(32);
    expect(await idsOf('q=agian')).toHaveLength(16);
  });

  it('never keeps a run from being created, whatever its prompt', async () => {
    await anotherTeam();
    const letters = Array.from({ length: 60_000 }, (_, i) => `${i.toString(36)}é`).join(' ');
    const ids = await insert([
      { prompt: 'a'.repeat(900_000) },
      { prompt: letters },
      { prompt: '😀'.repeat(60_000) },
    ]);
    expect(new Set(await idsOf(''))).toEqual(new Set(ids));
  });
});

describe('a parameter', () => {
  beforeAll(anotherTeam);

  it.each([
    ['state=failed', 'state'],
    ['state=FAILED&state=x', 'state'],
    ['state=', 'state'],
    ['sort_by=name', 'sort_by'],
    ['sort_order=DESC', 'sort_order'],
    ['source=api', 'source'],
    ['execution_location=HERE', 'execution_location'],
    ['artifact_type=plan', 'artifact_type'],
    ['environment_id=short', 'environment_id'],
    ['environment_id=', 'environment_id'],
    ['creator=me', 'creator'],
    ['executor=1', 'executor'],
    ['schedule_id=x', 'schedule_id'],
    ['ancestor_run_id=x', 'ancestor_run_id'],
    ['created_after=2026-02-30T00:00:00Z', 'created_after'],
    ['created_before=2026-01-01', 'created_before'],
    ['updated_after=2026-01-01T00:00:00', 'updated_after'],
    ['updated_after=0000-01-01T00:00:00Z', 'updated_after'],
    ['name=a&name=b', 'name'],
    ['name=%00', 'name'],
    ['q=%00', 'q'],
    [`q=${'x'.repeat(1025)}`, 'q'],
    ['skill=a&skill_spec=b', 'skill'],
    ['metadata=x', 'metadata'],
    ['metadata[a][b]=x', 'metadata[a][b]'],
    ['metadata[]=x', 'metadata[]'],
    ['metadata[a]=x&metadata[a]=y', 'metadata[a]'],
    ['metadata[a]=%00', 'metadata[a]'],
    [[1, 2, 3, 4, 5, 6].map((n) => `metadata[k${n}]=v`).join('&'), 'metadata'],
  ])('%s is a 400 that names %s', async (query, field) => {
    expect(await reader.call('GET', `runs?${query}`)).toMatchObject({
      status: 400,
      body: { error_code: 'invalid_request', errors: [{ field }] },
    });
  });

  it.each([
    '__proto__=x',
    'constructor=x',
    '__proto__[a]=x',
    'metadata[__proto__]=x',
    'states=x',
    'toString=1',
  ])('%s does no harm', async (query) => {
    expect((await reader.call('GET', `runs?${query}`)).status).toBe(200);
  });

  it.each(['2026-01-01t00:00:00z', '2024-02-29T23:59:60Z', '2026-01-01T00:00:00.123456789-23:59'])(
    'takes the time %s',
    async (time) => {
      expect((await reader.call('GET', `runs?created_after=${time}`)).status).toBe(200);
    },
  );

  it('metadata is refused where the operator has switched it off', async () => {
    const other = await startTestApp({ ROLES: 'api', METADATA_FILTERING: 'off' }, server);
    try {
      const client = new RunsClient(other, member.headers);
      expect(await client.call('GET', 'runs?metadata[a]=b')).toMatchObject({
        status: 403,
        body: { error_code: 'feature_not_available' },
      });
      expect((await client.call('GET', 'runs')).status).toBe(200);
    } finally {
      await other.close();
    }
  });
});

describe.each(WAYS)('the order, %s,', (way) => {
  readLists(way);

  it('by agent has the runs without a skill last, in either direction', async () => {
    await anotherTeam();
    const [first, second] = [randomUUID(), randomUUID()].sort();
    const [b, none, a, none2] = await insert([
      { skill_spec: 'b' },
      { id: first },
      { skill_spec: 'a' },
      { id: second },
    ]);
    for (const limit of [1, 2, 3, 4]) {
      expect(await walk(`sort_by=agent&sort_order=asc&limit=${limit}`)).toEqual([a, b, none, none2]);
      expect(await walk(`sort_by=agent&limit=${limit}`)).toEqual([b, a, none2, none]);
    }
  });

  it('by title is that of the title', async () => {
    await anotherTeam();
    const ids = await insert(['b', 'a', 'c', 'a'.repeat(500)].map((title) => ({ title })));
    expect(await walk('sort_by=title&sort_order=asc&limit=2')).toEqual([1, 3, 0, 2].map((n) => ids[n]));
  });

  it('binds its cursors to itself and to the filters', async () => {
    await anotherTeam();
    await insert([{}, {}, {}]);
    const query = 'limit=1&source=API&state=QUEUED&state=FAILED';
    const { next_cursor: cursor } = (await reader.list(query)).page_info;
    for (const other of [
      'sort_by=created_at&source=API&state=QUEUED&state=FAILED',
      'sort_order=asc&source=API&state=QUEUED&state=FAILED',
      'source=CLI&state=QUEUED&state=FAILED',
      'state=QUEUED&state=FAILED',
      'source=API&state=QUEUED',
      'source=API&state=QUEUED&state=FAILED&q=run',
    ]) {
      expect(await reader.call('GET', `runs?${other}&cursor=${cursor!}`)).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'cursor' }] },
      });
    }
    const same = `runs?limit=5&state=FAILED&state=QUEUED&state=QUEUED&source=API&cursor=${cursor!}`;
    expect(((await reader.call('GET', same)).body as { runs: object[] }).runs).toHaveLength(2);
  });
});

/** Numbers that a failure can be repeated with (mulberry32). */
const generator = (start: number) => (): number => {
  start = (start + 0x6d2b79f5) | 0;
  let t = Math.imul(start ^ (start >>> 15), 1 | start);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

it('the share of an owner in all runs is known from the statistics', async () => {
  await anotherTeam();
  await insert(Array.from({ length: 30 }, () => ({})));
  await server.dataSource.query('ANALYZE run_search');
  const [{ share }] = await server.dataSource.query<[{ share: number }]>(
    `SELECT avg((scope_uid = $1)::int)::float8 AS share FROM run_search`,
    [team],
  );
  const { app } = server;
  const shares = new OwnerShares(app.get(Database), app.get(Clock));
  expect(await shares.of([team])).toBeCloseTo(share, 4);
  expect(await shares.of([randomUUID()])).toBe(0);
});

describe('a page in an order of time, of the days that are expected to hold it,', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  const BEGIN = Date.parse('2026-01-01T00:00:00Z');
  const at = (days: number): string => new Date(BEGIN + days * DAY).toISOString();
  interface Known {
    id: string;
    source: string;
    state: string;
    title: string;
    created_at: string;
    updated_at: string;
  }
  let runs: Known[];
  let depths: RunList['scanDepths'];

  beforeAll(async () => {
    const list = server.app.get(RunList);
    depths = list.scanDepths;
    list.scanDepths = () => [6];
    await anotherTeam();
    const random = generator(11);
    const made = Array.from({ length: 300 }, () => {
      const created = BEGIN + Math.floor(random() * 90) * DAY + Math.floor(random() * 4) * 6 * HOUR;
      // Most change within the hour, some at its very end, a few after weeks.
      const lasts =
        [random() * HOUR, random() * HOUR, HOUR, random() * 40 * DAY][Math.floor(random() * 4)] ?? 0;
      return {
        title: random() < 0.3 ? 'kubernetes' : 'nothing',
        source: random() < 0.3 ? ('CLI' as const) : ('API' as const),
        state: random() < 0.5 ? 'FAILED' : 'SUCCEEDED',
        created_at: new Date(created).toISOString(),
        updated_at: new Date(created + Math.floor(lasts)).toISOString(),
      };
    });
    const ids = await insert(made);
    runs = made.map((run, index) => ({ ...run, id: ids[index] ?? '' }));
  }, 60_000);
  afterAll(() => {
    server.app.get(RunList).scanDepths = depths;
  });

  const CASES: [query: string, matches: (run: Known) => boolean][] = [
    ['source=CLI', ({ source }) => source === 'CLI'],
    ['q=kubernetis', ({ title }) => title === 'kubernetes'],
    ['source=CLI&q=kubernetis', ({ source, title }) => source === 'CLI' && title === 'kubernetes'],
    ['source=CLI&state=FAILED', ({ source, state }) => source === 'CLI' && state === 'FAILED'],
    [
      `source=CLI&created_after=${at(20)}&created_before=${at(60)}`,
      ({ source, created_at: created }) => source === 'CLI' && created > at(20) && created < at(60),
    ],
    [
      `source=CLI&updated_after=${at(50)}`,
      ({ source, updated_at: updated }) => source === 'CLI' && updated > at(50),
    ],
  ];

  describe.each(['updated_at', 'created_at'] as const)('by %s', (sort) => {
    it.each(
      CASES.flatMap(([query, matches]) =>
        (['desc', 'asc'] as const).map((order) => ({ query, matches, order })),
      ),
    )(
      '$order, $query',
      async ({ query, matches, order }) => {
        const ascending = runs
          .filter(matches)
          .sort((a, b) => (a[sort] + a.id < b[sort] + b.id ? -1 : 1))
          .map(({ id }) => id);
        const expected = order === 'asc' ? ascending : ascending.reverse();
        expect(expected.length).toBeGreaterThan(10);
        const statements = jest.spyOn(server.app.get(Database), 'query');
        for (const limit of [1, 2, 7, 25]) {
          expect(await walk(`sort_by=${sort}&sort_order=${order}&limit=${String(limit)}&${query}`)).toEqual(
            expected,
          );
        }
        // Of few days, by their tokens.
        const days = statements.mock.calls.filter(([, values]) =>
          JSON.stringify(values ?? []).includes('"day:'),
        );
        statements.mockRestore();
        expect(days.length).toBeGreaterThan(0);
      },
      30_000,
    );
  });
});

describe.each(WAYS)('the pages, %s,', (way) => {
  readLists(way);

  it.each(['asc', 'desc'])(
    'by the latest change %s do not repeat a run that a transaction from before the first page changes',
    async (order) => {
      const { app, dataSource } = server;
      await anotherTeam();
      const ids = await insert([{}, {}, {}].map(() => ({ updated_at: '2026-03-10T12:00:00Z' })));
      const old = dataSource.createQueryRunner();
      await old.startTransaction();
      await old.query('SELECT now()');
      const first = ids[0] ?? '';
      // Milliseconds are what these times are kept in.
      await delay(5);
      const [later] = await dataSource.query<{ at: Date }[]>(`SELECT now() AS at`);
      if (order === 'desc')
        await dataSource.query(`UPDATE runs SET updated_at = now() WHERE id = $1`, [first]);
      else
        await dataSource.query(`UPDATE runs SET updated_at = '2026-03-09T12:00:00Z' WHERE id = $1`, [first]);
      let pages = 0;
      const seen = await walk(`limit=1&sort_order=${order}`, async () => {
        pages += 1;
        if (pages > 1) return;
        const scope = { teamUid: team, ownerUid: null };
        const cancelled = await app.get(RunTransitions).cancel(new Tx(old), first, scope, [], member.uid);
        expect(cancelled?.cancelled).toBe(true);
        await old.commitTransaction();
        await old.release();
      });
      expect(seen).toHaveLength(3);
      expect(new Set(seen)).toEqual(new Set(ids));
      // Later than the beginning of the transaction that changed it.
      const [run] = await dataSource.query<{ updated_at: Date }[]>(
        `SELECT updated_at FROM runs WHERE id = $1`,
        [first],
      );
      expect(run!.updated_at.getTime()).toBeGreaterThanOrEqual(later!.at.getTime());
    },
  );

  let random: () => number;

  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

  const aRun = (): Partial<RunToInsert> & Partial<Columns> => ({
    title: pick(['alpha', 'beta', 'gamma delta', 'kubernetes']),
    source: pick(['API', 'API', 'CLI', 'LOCAL'] as const),
    skill_spec: pick([null, null, 'a', 'b']),
    metadata: pick<Record<string, string>>([{}, { env: 'prod' }, { env: 'test' }]),
    state: pick(['QUEUED', 'FAILED', 'SUCCEEDED']),
    team_uid: team,
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'repeat nothing and leave out nothing that does not change, however runs come and change (seed %d)',
    async (start) => {
      random = generator(start);
      await anotherTeam();
      const before = await insert(Array.from({ length: 60 }, aRun));
      const sort = pick(['updated_at', 'updated_at', 'created_at', 'title', 'agent']);
      const order = pick(['asc', 'desc']);
      const filter = pick([
        '',
        'source=API',
        'metadata[env]=prod',
        'q=kubernetis',
        'state=FAILED',
        'state=QUEUED&state=FAILED',
      ]);
      const query = `limit=${pick([1, 3, 7, 20])}&sort_by=${sort}&sort_order=${order}&${filter}`;
      const expected = await idsOf(`limit=500&sort_by=${sort}&sort_order=${order}&${filter}`);
      const changed = new Set<string>();
      // Transactions from before the first page, in which runs are changed during the walk.
      const old = await Promise.all(
        [1, 2, 3].map(async () => {
          const runner = server.dataSource.createQueryRunner();
          await runner.startTransaction();
          await runner.query('SELECT now()');
          return runner;
        }),
      );
      const change = async (id: string, state: string) => {
        const runner = old.pop();
        await (runner ?? server.dataSource).query(
          `UPDATE runs r SET ${TOUCHED}, state = $2 WHERE r.id = $1`,
          [id, state],
        );
        await runner?.commitTransaction();
        await runner?.release();
      };
      const seen = await walk(query, async () => {
        for (let n = Math.floor(random() * 4); n > 0; n--) {
          if (random() < 0.4) {
            await insert([aRun()]);
          } else {
            const id = pick(before);
            changed.add(id);
            await change(id, pick(['QUEUED', 'FAILED', 'SUCCEEDED']));
          }
        }
      });
      for (const runner of old) {
        await runner.rollbackTransaction();
        await runner.release();
      }
      expect(new Set(seen).size).toBe(seen.length);
      const unchanged = (ids: string[]) => ids.filter((id) => before.includes(id) && !changed.has(id));
      expect(unchanged(seen)).toEqual(unchanged(expected));
      expect(unchanged(expected).length).toBeGreaterThan(0);
    },
  );
});
