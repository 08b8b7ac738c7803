import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { formatDefinitionError } from './definition.js';
import { DEFINITION_KINDS, jsonSchemaOf } from './definition-schemas.js';
import { parseDefinition } from './parse-definition.js';
import { type DefinitionContent, renderDefinition } from './render-definition.js';

const WEBHOOK = '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11';
const FILES = {
  'factory.yaml': 'name: default\nmode: repository\n',
  'webhooks/github.yaml': 'authMode: signature\nsignatureScheme: github\nsecretName: GITHUB_SECRET\n',
  'webhooks/alerts.yaml': 'secretName: ALERTS # a bearer token\n',
  'automations/triage/automation.md': `---
agent: triager
triggers:
  - provider: webhook
    event: received
    filter:
      webhook_ids: [${WEBHOOK.toUpperCase()}]
      payload:
        action: [completed]
        workflow_run: { conclusion: { not_in: [success] } }
  - { provider: schedule, event: cron_fired, schedule: { cron: 0 7 * * 1-5 } }
config:
  idle_timeout_minutes: 5
---

Find out why it failed.

---

Then fix it.
`,
  'agents/triager/agent.md': 'You fix builds.',
};

const errorsOf = (files: Record<string, string>): string[] => {
  const parsed = parseDefinition({ 'factory.yaml': '', ...files });
  return parsed.outcome === 'parsed' ? [] : parsed.errors.map(formatDefinitionError);
};
const contentOf = (files: Record<string, string>): DefinitionContent => {
  const parsed = parseDefinition(files);
  if (parsed.outcome === 'invalid') throw new Error(parsed.errors.map(formatDefinitionError).join('\n'));
  const values = <T>(located: { value: T }[]): T[] => located.map(({ value }) => value);
  const { factory, webhooks, automations, agents, scorers } = parsed.definition;
  return {
    factory: factory.value,
    webhooks: values(webhooks),
    automations: values(automations),
    agents: values(agents),
    scorers: values(scorers),
  };
};

describe('a definition', () => {
  it('is read from its files', () => {
    expect(contentOf(FILES)).toEqual({
      scorers: [],
      factory: { name: 'default', mode: 'repository' },
      webhooks: [
        { name: 'alerts', authMode: 'token', secretName: 'ALERTS', enabled: true },
        {
          name: 'github',
          authMode: 'signature',
          signatureScheme: 'github',
          secretName: 'GITHUB_SECRET',
          enabled: true,
        },
      ],
      automations: [
        {
          name: 'triage',
          enabled: true,
          agent: 'triager',
          triggers: [
            {
              provider: 'webhook',
              event: 'received',
              filter: {
                webhook_ids: [WEBHOOK],
                payload: { action: ['completed'], workflow_run: { conclusion: { not_in: ['success'] } } },
              },
            },
            { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 7 * * 1-5' } },
          ],
          config: { idle_timeout_minutes: 5 },
          prompt: 'Find out why it failed.\n\n---\n\nThen fix it.',
        },
      ],
      agents: [{ name: 'triager', secrets: [], skills: [], prompt: 'You fix builds.' }],
    });
  });

  it('is the same when it is written and read again', () => {
    const content = contentOf(FILES);
    content.agents.push({
      name: 'with everything: "quoted"',
      description: '- not a list',
      secrets: ['A', 'B'],
      skills: ['a/b:c/SKILL.md'],
      mcp_servers: { 'a: b': { command: 'npx', args: ['--- ', '', 'null'] } },
      worker_host: '0123',
      prompt: '---\nA prompt that looks like front matter.\n---',
    });
    content.scorers.push({
      name: 'Found the cause?',
      agents: ['fixer', '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11'],
      labels: [
        { value: 'yes', score: 1, description: 'It did: "exactly"' },
        { value: 'no', score: 0 },
      ],
      passing_score: 0.5,
      sampling_rate: 0,
      harness: { type: 'claude', reasoning_level: 'high' },
      prompt: 'Did it find the cause?\n\n- one',
    });
    expect(contentOf(renderDefinition(content))).toEqual(content);
  });

  it('is the same on Windows', () => {
    const windows = Object.fromEntries(
      Object.entries(FILES).map(([file, text]) => [file, `\u{FEFF}${text.replaceAll('\n', '\r\n')}`]),
    );
    expect(contentOf(windows)).toEqual(contentOf(FILES));
  });

  it.each<[what: string, file: string, text: string, errors: string[]]>([
    [
      'a key that nobody knows',
      'webhooks/a.yaml',
      'secretName: A\nsecretname: B\n',
      ['webhooks/a.yaml:2: secretname: is not a known field'],
    ],
    [
      'a value that is none of those allowed',
      'webhooks/a.yaml',
      '# a comment\n\nsecretName: A\nauthMode: basic\n',
      ['webhooks/a.yaml:4: authMode: Invalid option: expected one of "token"|"url_token"|"signature"'],
    ],
    [
      'a scheme that is missing',
      'webhooks/a.yaml',
      'secretName: A\nauthMode: signature\n',
      ['webhooks/a.yaml:1: signatureScheme: is required with authMode signature'],
    ],
    [
      'a scheme without signatures',
      'webhooks/a.yaml',
      'secretName: A\nsignatureScheme: github\n',
      ['webhooks/a.yaml:2: signatureScheme: goes with authMode signature alone'],
    ],
    [
      'the name of a secret that cannot be one',
      'webhooks/a.yaml',
      'secretName: a secret\n',
      ['webhooks/a.yaml:1: secretName: must be 1 to 128 of A-Z a-z 0-9 and _, a digit not first'],
    ],
    [
      'a mistake in a filter, deep inside',
      'automations/a/automation.md',
      '---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: []\n      payload:\n        action: opened\n        repository:\n          name: { in: [] }\n---\n',
      [
        'automations/a/automation.md:8: triggers.0.filter.payload.action: must be a list of values, an object of operators or a nested object',
        'automations/a/automation.md:10: triggers.0.filter.payload.repository.name.in: must not be an empty list',
      ],
    ],
    [
      'a key that is lost on the way, in a filter',
      'automations/a/automation.md',
      '---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: []\n      payload:\n        __proto__: [1]\n        a:\n          b: { constructor: [1] }\n---\n',
      [
        'automations/a/automation.md:8: triggers.0.filter.payload.__proto__: is a key that nothing may have',
        'automations/a/automation.md:10: triggers.0.filter.payload.a.b.constructor: is a key that nothing may have',
      ],
    ],
    [
      'a key that is lost on the way, in a record',
      'agents/a/agent.md',
      '---\nmcp_servers:\n  a:\n    command: npx\n    env: { __proto__: x }\n  prototype: { command: npx }\n---\n',
      [
        'agents/a/agent.md:5: mcp_servers.a.env.__proto__: is a key that nothing may have',
        'agents/a/agent.md:6: mcp_servers.prototype: is a key that nothing may have',
      ],
    ],
    [
      'a key that is lost on the way, at the top',
      'factory.yaml',
      'name: a\n__proto__: { mode: repository }\n',
      ['factory.yaml:2: __proto__: is a key that nothing may have'],
    ],
    [
      'a name of a webhook in the place of its uid',
      'automations/a/automation.md',
      '---\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids:\n        - github\n---\n',
      ['automations/a/automation.md:7: triggers.0.filter.webhook_ids.0: Invalid UUID'],
    ],
    [
      'YAML that is none',
      'automations/a/automation.md',
      '---\nenabled: true\nagent: "x\n---\n',
      [expect.stringContaining('automations/a/automation.md:') as unknown as string],
    ],
    [
      'a key that is there twice',
      'webhooks/a.yaml',
      'secretName: A\nenabled: true\nenabled: false\n',
      ['webhooks/a.yaml:3: The key enabled is there twice'],
    ],
    [
      'front matter that does not end',
      'automations/a/automation.md',
      '---\nenabled: true\n',
      ['automations/a/automation.md:1: The front matter does not end: there is no second line ---'],
    ],
    [
      'a list in the place of a mapping',
      'webhooks/a.yaml',
      '- a\n',
      ['webhooks/a.yaml:1: Invalid input: expected object, received array'],
    ],
    [
      'a configuration that contradicts itself',
      'automations/a/automation.md',
      '---\nconfig:\n  skill_spec: a/b:c\n  skills: [a/b:d]\n---\n',
      ['automations/a/automation.md:2: config: must not have skill_spec and skills together'],
    ],
    [
      'NUL',
      'automations/a/automation.md',
      'a\0b',
      ['automations/a/automation.md:1: must be valid Unicode without NUL'],
    ],
    [
      'a half of a surrogate pair behind an escape',
      'automations/a/automation.md',
      '---\nconfig: { name: "\\uD800" }\n---\n',
      ['automations/a/automation.md:2: config.name: must be valid Unicode without NUL'],
    ],
    [
      'a file that is none of a definition',
      'webhooks/a.yml',
      '',
      [expect.stringMatching(/^webhooks\/a\.yml:1: is no definition file/) as unknown as string],
    ],
  ])('names the line of %s', (_, file, text, errors) => {
    expect(errorsOf({ [file]: text })).toEqual(errors);
  });

  it('has a factory.yaml, so that an empty directory deletes nothing', () => {
    const parsed = parseDefinition({});
    expect(parsed).toMatchObject({ errors: [{ file: 'factory.yaml', line: 1 }] });
  });

  it('has no two files of one name', () => {
    const text = 'secretName: A';
    expect(errorsOf({ 'webhooks/A.yaml': text, 'webhooks/a.yaml': text })).toEqual([
      'webhooks/a.yaml:1: has the name of webhooks/A.yaml: upper and lower case are one',
    ]);
  });

  it.each([
    ['nested without end', `a: ${'['.repeat(50_000)}`],
    ['nested deeply', `a: ${'['.repeat(1000)}${']'.repeat(1000)}`],
    [
      'full of aliases',
      `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefghij'
        .split('')
        .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(', ')}]`)
        .join('\n')}`,
    ],
    ['of ten thousand keys', Array.from({ length: 10_000 }, (__, index) => `k${index}: 1`).join('\n')],
  ])('is refused in little time when it is %s', (_, yaml) => {
    const began = performance.now();
    expect(errorsOf({ 'webhooks/a.yaml': yaml })).not.toEqual([]);
    expect(performance.now() - began).toBeLessThan(3000);
  });
});

describe('the published JSON Schemas', () => {
  it.each(DEFINITION_KINDS)('of %s is what docs/schemas has (npm run docs:schemas)', async (kind) => {
    const file = await readFile(`docs/schemas/${kind}.schema.json`, 'utf8');
    expect(JSON.parse(file)).toEqual(jsonSchemaOf(kind));
  });
});
