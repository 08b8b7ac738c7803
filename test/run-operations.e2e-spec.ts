import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import type { RunSource } from '../src/runs/domain/run-source.js';
import { isTerminal, RUN_STATE_MACHINE, type RunState } from '../src/runs/domain/run-state.js';
import { RunsClient } from './support/runs.js';
import { startTestApp, type TestApp } from './support/test-app.js';

const DOCUMENT = 'docs/run-operations.md';

interface RunType {
  name: string;
  source: RunSource;
  workerHost: string | null;
  cancellable: boolean;
}
const TYPES: RunType[] = [
  { name: 'hosted', source: 'API', workerHost: null, cancellable: true },
  { name: 'self-hosted', source: 'API', workerHost: 'a-host', cancellable: false },
  { name: 'local', source: 'LOCAL', workerHost: null, cancellable: false },
  { name: 'GitHub Action', source: 'GITHUB_ACTION', workerHost: null, cancellable: false },
];
/** The states, and the one that a follow-up finds otherwise than its name says. */
const KEPT = 'FAILED, session kept';
const SITUATIONS = [...RUN_STATE_MACHINE.states, KEPT] as const;
type Situation = (typeof SITUATIONS)[number];
const stateOf = (situation: Situation): RunState => (situation === KEPT ? 'FAILED' : situation);

const OPERATIONS = ['cancel', 'follow-up', 'empty follow-up', 'empty follow-up, conversation saved'] as const;
type Operation = (typeof OPERATIONS)[number];

const REFUSED_TYPE = '422 operation_not_supported';
const REFUSED = '400 invalid_request';
const PENDING = '409 conflict (retryable)';

/** What the specification says of each case: the answer, and the state afterwards. */
function expected(situation: Situation, operation: Operation, type: RunType): string {
  const state = stateOf(situation);
  if (situation === KEPT && operation !== 'cancel') return operation === 'follow-up' ? '200' : REFUSED;
  switch (operation) {
    case 'cancel':
      if (!type.cancellable) return REFUSED_TYPE;
      if (isTerminal(state)) return REFUSED;
      return state === 'PENDING' ? PENDING : '200 → CANCELLED';
    case 'follow-up':
      return isTerminal(state) ? '200 → QUEUED' : '200';
    case 'empty follow-up':
      return REFUSED;
    case 'empty follow-up, conversation saved':
      return isTerminal(state) ? '200 → QUEUED' : REFUSED;
  }
}

let server: TestApp;
let runs: RunsClient;

beforeAll(async () => {
  server = await startTestApp();
  runs = new RunsClient(server);
});
afterAll(async () => {
  await server.close();
});

async function insertRun(situation: Situation, type: RunType, saved: boolean): Promise<string> {
  const state = stateOf(situation);
  const runId = await runs.create();
  const conversationId = saved ? randomUUID() : null;
  if (saved) {
    await server.dataSource.query(
      `INSERT INTO conversations (id, format, transcript_key) VALUES ($1, 'millwright_script', 'key')`,
      [conversationId],
    );
  }
  const isAssigned = ['PENDING', 'CLAIMED', 'INPROGRESS', KEPT].includes(situation);
  const [execution] = isAssigned
    ? await server.dataSource.query<{ id: string }[]>(
        `INSERT INTO run_executions (run_id, worker_id, connection_id, claim_deadline_at, claimed_at)
         VALUES ($1, 'worker', $2, now() + interval '1 hour', $3) RETURNING id`,
        [runId, randomUUID(), state === 'PENDING' ? null : new Date()],
      )
    : [];
  if (situation === KEPT) {
    await server.dataSource.query(
      `UPDATE run_executions SET session_retained_at = now(), session_retained_until = now() + interval '1 hour',
              lease_expires_at = now() + interval '1 hour' WHERE id = $1`,
      [execution?.id],
    );
  }
  await server.dataSource.query(
    `UPDATE runs SET state = $2, source = $3, worker_host = $4, conversation_id = $5, execution_id = $6,
            status_message = '{"message": "Before"}' WHERE id = $1`,
    [runId, state, type.source, type.workerHost, conversationId, execution?.id ?? null],
  );
  return runId;
}

/** Does it, and says what came of it. */
async function observe(situation: Situation, operation: Operation, type: RunType): Promise<string> {
  const state = stateOf(situation);
  const runId = await insertRun(situation, type, operation === 'empty follow-up, conversation saved');
  const before = await runs.eventTypes(runId);
  const { status, body } =
    operation === 'cancel'
      ? await runs.cancel(runId)
      : await runs.call('POST', `runs/${runId}/followups`, {
          message: operation === 'follow-up' ? 'Go on' : '',
        });
  const after = await runs.read(runId);
  const types = (await runs.eventTypes(runId)).slice(before.length);
  const moved = after.state === state ? '' : ` → ${after.state}`;
  if (status === 200) {
    expect(types).toEqual(
      operation === 'cancel' ? ['cancel_requested', 'oz_run_cancelled'] : ['followup_received'],
    );
    if (operation !== 'cancel' && moved !== '') expect(after.status_message).toBeUndefined();
    return `200${moved}`;
  }
  expect(types).toEqual([]);
  expect(after.status_message?.message).toBe('Before');
  const { error_code: code, retryable } = body as { error_code: string; retryable: boolean };
  return `${String(status)} ${code}${retryable ? ' (retryable)' : ''}${moved}`;
}

const cases = TYPES.flatMap((type) =>
  SITUATIONS.flatMap((state) => OPERATIONS.map((operation) => ({ type, state, operation }))),
);

describe('the operations on runs', () => {
  const observed = new Map<string, string>();
  const key = (type: RunType, state: Situation, operation: Operation): string =>
    [type.name, state, operation].join('|');

  it.each(cases.map((each) => ({ ...each, typeName: each.type.name })))(
    '$operation × $state × $typeName',
    async ({ type, state, operation }) => {
      const outcome = await observe(state, operation, type);
      observed.set(key(type, state, operation), outcome);
      expect(outcome).toBe(expected(state, operation, type));
    },
  );

  it(`stand in ${DOCUMENT} as they are (UPDATE_DOCS=1 npm test -- run-operations writes it)`, async () => {
    const sections = TYPES.map((type) => {
      const rows = SITUATIONS.map((state) =>
        [state, ...OPERATIONS.map((operation) => observed.get(key(type, state, operation)) ?? '?')].join(
          ' | ',
        ),
      );
      return [
        `## Runs of the type ${type.name}`,
        '',
        `| state | ${OPERATIONS.join(' | ')} |`,
        `| --- |${OPERATIONS.map(() => ' --- |').join('')}`,
        ...rows.map((row) => `| ${row} |`),
      ].join('\n');
    });
    const markdown = [
      '# What can be done to a run, by its state and type',
      'What the service answers, and the state to which the run moves; without an arrow it stays. Made by `test/run-operations.e2e-spec.ts`, which tries every case.',
      'A follow-up that moves nothing waits for the agent: it is given with the prompt, as the next message of an agent at work, or to a new execution once the present one has ended. A conversation is saved when a transcript of it was uploaded. A session is kept for debugging when the set-up of the environment failed, the environment asks for that, and the window is still open.',
      ...sections,
    ].join('\n\n');
    const text = await format(markdown, { ...(await resolveConfig(DOCUMENT)), parser: 'markdown' });
    if (process.env.UPDATE_DOCS === '1') await writeFile(DOCUMENT, text);
    expect(await readFile(DOCUMENT, 'utf8')).toBe(text);
  });
});
