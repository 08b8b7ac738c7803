import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ServiceProcess } from './support/service-process.js';
import { ADMIN_KEY, call, eventually } from './support/test-app.js';

const MAIN = join(import.meta.dirname, '../dist/cli/main.js');
const EXAMPLES = ['ci-failure-triage', 'sentry-alert', 'vercel-deployment'];
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (algorithm: string, secret: string, body: string): string =>
  createHmac(algorithm, secret).update(body).digest('hex');

let directory: string;
let service: ServiceProcess;

/** A fresh installation, as an operator starts it. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-examples-'));
  service = await ServiceProcess.start({ DATA_DIR: join(directory, 'data') });
}, 60_000);
afterAll(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** @returns both of its outputs; what it refuses is on standard error */
const millwright = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
  const env = { MILLWRIGHT_URL: service.url, MILLWRIGHT_API_KEY: ADMIN_KEY };
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [MAIN, ...args], { env })) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
};

const copyOf = async (example: string): Promise<string> => {
  const copy = await mkdtemp(join(directory, `${example}-`));
  await cp(join('examples', example), copy, { recursive: true });
  return copy;
};

describe('millwright validate', () => {
  it.each(EXAMPLES)('accepts the example %s, without the service', async (example) => {
    const { code, stdout } = await millwright('validate', join('examples', example));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d files are valid\n$/)]);
  });

  it('names file and line of every mistake, as compilers do', async () => {
    const copy = await copyOf('sentry-alert');
    await appendFile(join(copy, 'webhooks/sentry.yaml'), 'enabled: perhaps\n');
    await writeFile(join(copy, 'webhooks/odd.yml'), '');
    const { code, stderr } = await millwright('validate', copy);
    const lines = (await readFile(join(copy, 'webhooks/sentry.yaml'), 'utf8')).trimEnd().split('\n').length;
    expect(code).toBe(1);
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^webhooks\/odd\.yml:1: is no definition file/),
      `webhooks/sentry.yaml:${lines}: enabled: Invalid input: expected boolean, received string`,
    ]);
  });

  it('reads scorers, too', async () => {
    const copy = await copyOf('sentry-alert');
    await mkdir(join(copy, 'scorers/cause'), { recursive: true });
    await writeFile(join(copy, 'scorers/cause/scorer.md'), '---\nagents: []\n---\n');
    const { code, stderr } = await millwright('validate', copy);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^scorers\/cause\/scorer\.md:2: agents: /m)]);
  });

  it('says which directory cannot be read', async () => {
    const { code, stderr } = await millwright('validate', join(directory, 'nowhere'));
    expect([code, stderr]).toEqual([2, expect.stringContaining('ENOENT')]);
  });
});

describe('millwright apply', () => {
  it('sends every file that the export has: they change nothing', async () => {
    const { body: factory } = await service.call('POST', '/v1/factories', { name: 'every kind' });
    const path = `/v1/factories/${(factory as { uid: string }).uid}/definition`;
    await service.call('POST', '/v1/secrets', { name: 'ALERTS', value: 'a-bearer-token', team: true });
    const made = await service.call('POST', path, {
      files: {
        'factory.yaml': 'name: every kind\n',
        'webhooks/alerts.yaml': 'secretName: ALERTS\n',
        'automations/triage/automation.md': 'Find out why.',
        'agents/fixer/agent.md': 'You fix builds.',
        'scorers/cause/scorer.md':
          '---\nagents: [fixer]\nlabels: [{ value: good, score: 1 }, { value: bad, score: 0 }]\npassing_score: 1\n---\nDid it?',
      },
    });
    expect((made.body as { plan: { kind: string }[] }).plan.map(({ kind }) => kind)).toEqual([
      'agent',
      'webhook',
      'automation',
      'scorer',
    ]);
    const copy = await mkdtemp(join(directory, 'exported-'));
    const { files } = (await service.call('GET', path)).body as { files: Record<string, string> };
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(copy, file)), { recursive: true });
      await writeFile(join(copy, file), text);
    }
    expect(await millwright('apply', copy)).toMatchObject({ code: 0, stdout: 'Nothing to change\n' });
  });
});

describe.each<
  [
    example: string,
    secret: string,
    webhook: string,
    payload: object,
    sign: (secret: string, body: string) => Record<string, string>,
  ]
>([
  [
    'ci-failure-triage',
    'GITHUB_WEBHOOK_SECRET',
    'github',
    { action: 'completed', workflow_run: { conclusion: 'failure', event: 'push', name: 'CI' } },
    (secret, body) => ({
      'X-Hub-Signature-256': `sha256=${hmac('sha256', secret, body)}`,
      'X-GitHub-Delivery': 'one',
    }),
  ],
  [
    'sentry-alert',
    'SENTRY_CLIENT_SECRET',
    'sentry',
    { action: 'triggered', data: { event: { level: 'error', title: 'TypeError' } } },
    (secret, body) => ({ 'Sentry-Hook-Signature': hmac('sha256', secret, body), 'Request-ID': 'one' }),
  ],
  [
    'vercel-deployment',
    'VERCEL_WEBHOOK_SECRET',
    'vercel',
    { id: 'evt_1', type: 'deployment.error', payload: { target: 'production' } },
    (secret, body) => ({ 'x-vercel-signature': hmac('sha1', secret, body) }),
  ],
])('the example %s', (example, secretName, webhookName, payload, sign) => {
  it('applies to a factory of its own, and a signed delivery starts a run that has the exact payload', async () => {
    const secret = `the-secret-of-${webhookName}`;
    const { body: factory } = await service.call('POST', '/v1/factories', { name: example });
    const { uid } = factory as { uid: string };
    const copy = await copyOf(example);
    await writeFile(join(copy, 'factory.yaml'), `name: ${example}\n`);

    const early = await millwright('apply', copy);
    expect(early.code).toBe(1);
    expect(early.stderr).toMatch(
      new RegExp(`webhooks/${webhookName}\\.yaml:\\d+: secretName: must name a secret`),
    );

    await service.call('POST', '/v1/secrets', { name: secretName, value: secret, team: true });
    const dry = await millwright('apply', copy, '--dry-run');
    expect(dry.stdout).toContain(`create webhook ${webhookName}\n`);
    expect(dry.stdout).toContain('Not applied');
    const first = await millwright('apply', copy);
    expect(first.stdout).toMatch(/Applied\n$/);
    expect(first.stderr).toContain('names no webhook');
    const row = first.stderr.split('\n').find((line) => line.startsWith(webhookName))!;
    const [, webhookUid, ingressUrl] = row.split(/\s+/) as [string, string, string];

    const [automation] = await readdir(join(copy, 'automations'));
    const file = join(copy, 'automations', automation!, 'automation.md');
    const text = await readFile(file, 'utf8');
    // The model `script` executes what stands in fences, so that the test sees the workspace.
    const script = '\n```bash\nsha256sum < "$MILLWRIGHT_ATTACHMENTS_DIR/event-payload.json"\n```\n';
    await writeFile(file, text.replace('webhook_ids: []', `webhook_ids: [${webhookUid}]`) + script);
    const second = await millwright('apply', copy);
    expect([second.code, second.stdout]).toEqual([0, `update automation ${automation!}\nApplied\n`]);
    expect((await millwright('apply', copy)).stdout).toBe('Nothing to change\n');

    const body = `${JSON.stringify(payload, null, 3)}\n`;
    const url = new URL(ingressUrl);
    const delivered = await call(service.url + url.pathname, 'POST', body, {
      Authorization: '',
      ...sign(secret, body),
    });
    expect(delivered.status).toBe(202);
    const { delivery_id } = delivered.body as { delivery_id: string };
    const runId = await eventually(async () => {
      const { body: delivery } = await service.call(
        'GET',
        `/v1/webhooks/${webhookUid}/deliveries/${delivery_id}`,
      );
      return (delivery as { evaluations?: { run_id?: string }[] }).evaluations?.[0]?.run_id;
    });
    await service.reaches(runId, ['SUCCEEDED']);
    const conversation = await service.call('GET', `/v1/agent/runs/${runId}/conversation`);
    expect(JSON.stringify(conversation.body)).toContain(sha256(body));

    const exported = await service.call('GET', `/v1/factories/${uid}/definition`);
    expect(Object.keys((exported.body as { files: object }).files)).toContain(`webhooks/${webhookName}.yaml`);
  }, 60_000);
});
