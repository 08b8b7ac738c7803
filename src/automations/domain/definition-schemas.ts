import { z } from 'zod';
import { ONE_LINE, ONE_LINE_RULE } from '../../kernel/one-line.js';
import type { CredentialStrategy, HarnessType, McpServer } from '../../identities/index.js';
import { isStorableText } from '../../kernel/storable-text.js';
import type { AgentConfig } from '../../runs/index.js';
import type { AuthMode, FactoryMode, SignatureScheme } from '../../webhooks/index.js';
import type { Trigger } from './automation.js';
import { compileFilter, MAX_CONDITIONS, MAX_DEPTH, MAX_LIST } from './payload-filter.js';

// The contexts that own these lists load the framework with them, and the command line client has to do without it. As records of
// the owners' types they do not compile when they lack a name.
const FACTORY_MODES: Record<FactoryMode, true> = { managed: true, repository: true };
const AUTH_MODES: Record<AuthMode, true> = { token: true, url_token: true, signature: true };
const SIGNATURE_SCHEMES: Record<SignatureScheme, true> = {
  github: true,
  stripe: true,
  standard_webhooks: true,
  sentry: true,
  pagerduty: true,
  vercel: true,
  gitlab: true,
  slack: true,
  linear: true,
  shopify: true,
  bitbucket: true,
  jira: true,
};
const HARNESS_TYPES: Record<HarnessType, true> = { oz: true, claude: true, gemini: true, codex: true };
const CREDENTIAL_STRATEGIES: Record<CredentialStrategy, true> = { CREATOR: true, EXECUTOR: true };

const oneOf = <Name extends string>(names: Record<Name, true>) =>
  z.enum(Object.keys(names) as [Name, ...Name[]]);

const MAX_SHORT_TEXT = 256;
/** Characters of a prompt or of instructions at most. */
export const MAX_LONG_TEXT = 100_000;
const MAX_SKILL_SPEC = 1024;
const MAX_TRIGGERS = 20;
/** A factory has no more. */
const MAX_WEBHOOKS = 20;

const text = (maximum: number) =>
  z.string().max(maximum).refine(isStorableText, 'must be valid Unicode without NUL');
const shortText = text(MAX_SHORT_TEXT);
const longText = text(MAX_LONG_TEXT);
const name = text(MAX_SHORT_TEXT).min(1);
const secretName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be 1 to 128 of A-Z a-z 0-9 and _, a digit not first');
const environmentId = z.string().regex(/^[A-Za-z0-9]{22}$/, 'must be 22 characters of A-Z, a-z and 0-9');
const skillSpecs = z.array(text(MAX_SKILL_SPEC).min(1)).max(100);
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const texts = z.record(z.string(), text(8192));

const harness = z.strictObject({
  type: oneOf(HARNESS_TYPES).optional(),
  model_id: shortText.optional(),
  reasoning_level: shortText.optional(),
});
const harnessAuthSecrets = z.strictObject({
  claude_auth_secret_name: shortText.optional(),
  codex_auth_secret_name: shortText.optional(),
});
const inferenceProviders = z.strictObject({
  aws: z
    .strictObject({
      disabled: z.boolean().optional(),
      region: shortText.optional(),
      role_arn: text(2048).optional(),
    })
    .optional(),
});
const mcpServer: z.ZodType<McpServer> = z
  .strictObject({
    warp_id: shortText.optional(),
    command: text(4096).optional(),
    args: z.array(text(8192)).optional(),
    env: texts.optional(),
    url: httpUrl.optional(),
    headers: texts.optional(),
  })
  .refine(
    ({ warp_id: id, command, url }) => [id, command, url].filter((way) => way !== undefined).length === 1,
    'must have exactly one of warp_id, command and url',
  );
const mcpServers = z.record(z.string().min(1).max(MAX_SHORT_TEXT), mcpServer);
const memoryStore = z.strictObject({
  uid: name,
  access: z.enum(['read_write', 'read_only']),
  instructions: longText,
});

/** How runs are to be configured, as for a run that is created by the API. */
export const agentConfigSchema: z.ZodType<AgentConfig> = z
  .strictObject({
    name: shortText.optional(),
    model_id: shortText.optional(),
    base_prompt: longText.optional(),
    environment_id: environmentId.optional(),
    runner_id: shortText.optional(),
    skill_spec: text(MAX_SKILL_SPEC).optional(),
    skills: skillSpecs.optional(),
    mcp_servers: mcpServers.optional(),
    computer_use_enabled: z.boolean().optional(),
    computer_use_model_id: shortText.optional(),
    idle_timeout_minutes: z.int().min(1).max(60).optional(),
    worker_host: shortText.optional(),
    harness: harness.optional(),
    harness_auth_secrets: harnessAuthSecrets.optional(),
    session_sharing: z.strictObject({ public_access: z.enum(['VIEWER', 'EDITOR']).optional() }).optional(),
    memory_stores: z.array(memoryStore).max(100).optional(),
    inference_providers: inferenceProviders.optional(),
    credential_strategy: oneOf(CREDENTIAL_STRATEGIES).nullable().optional(),
  })
  .refine(
    ({ skill_spec: spec, skills }) => spec === undefined || skills === undefined,
    'must not have skill_spec and skills together',
  );

const SCALAR = { type: ['string', 'number', 'boolean', 'null'] };
const LIST = { type: 'array', minItems: 1, maxItems: MAX_LIST, items: SCALAR };
/** The rules of a payload filter as far as JSON Schema can say them. */
const FILTER_JSON_SCHEMA = {
  description: `Mirrors the payload: every key must match. At most ${MAX_CONDITIONS} conditions and ${MAX_DEPTH} levels.`,
  type: 'object',
  additionalProperties: {
    anyOf: [
      LIST,
      {
        type: 'object',
        minProperties: 1,
        additionalProperties: false,
        properties: { in: LIST, not_in: LIST, exists: { type: 'boolean' } },
      },
      {
        type: 'object',
        minProperties: 1,
        propertyNames: { not: { enum: ['in', 'not_in', 'exists'] } },
      },
    ],
  },
};

const payloadFilter = z
  .record(z.string(), z.unknown())
  .superRefine((filter, context) => {
    const compiled = compileFilter(filter);
    if (compiled.outcome === 'compiled') return;
    for (const { path, message } of compiled.errors) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  })
  .meta({ millwright: 'payload-filter' });

const trigger = z.discriminatedUnion('provider', [
  z.strictObject({
    provider: z.literal('webhook'),
    event: z.literal('received'),
    filter: z.strictObject({
      /** Canonical, as the database writes them. */
      webhook_ids: z
        .array(z.uuid().toLowerCase())
        .max(MAX_WEBHOOKS)
        .meta({ description: 'UIDs of webhooks, as `millwright apply` prints them' }),
      payload: payloadFilter.optional(),
    }),
  }),
  z.strictObject({
    provider: z.literal('schedule'),
    event: z.literal('cron_fired'),
    schedule: z.strictObject({
      cron: text(MAX_SHORT_TEXT)
        .min(1)
        .meta({ description: 'A cron expression, in UTC', examples: ['0 7 * * 1-5'] }),
      name: shortText.optional(),
    }),
  }),
]);

/** What starts runs of an automation, in the API and in files alike. */
export const triggersSchema: z.ZodType<Trigger[]> = z.array(trigger).max(MAX_TRIGGERS);

/** `factory.yaml`. */
export const factoryFileSchema = z.strictObject({
  name: name
    .optional()
    .meta({ description: 'The factory that the files define; a guard against applying them to another' }),
  mode: oneOf(FACTORY_MODES)
    .optional()
    .meta({ description: '`repository`: only these files change it, the API no longer does' }),
});

/** `webhooks/<name>.yaml`. */
export const webhookFileSchema = z
  .strictObject({
    authMode: oneOf(AUTH_MODES).default('token'),
    signatureScheme: oneOf(SIGNATURE_SCHEMES)
      .optional()
      .meta({ description: 'Whose signatures are verified: exactly with authMode signature' }),
    secretName: secretName.meta({ description: 'The secret of the team that holds the credential' }),
    deliveryIdHeader: z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the name of a header')
      .optional()
      .meta({ description: "The header with the sender's own id of an event" }),
    enabled: z.boolean().default(true),
  })
  .superRefine(({ authMode, signatureScheme }, context) => {
    const path = ['signatureScheme'];
    if (authMode === 'signature' && signatureScheme === undefined) {
      context.addIssue({ code: 'custom', path, message: 'is required with authMode signature' });
    }
    if (authMode !== 'signature' && signatureScheme !== undefined) {
      context.addIssue({ code: 'custom', path, message: 'goes with authMode signature alone' });
    }
  });

/** The front matter of `automations/<name>/automation.md`. */
export const automationFileSchema = z.strictObject({
  enabled: z.boolean().default(true),
  agent: name.optional().meta({
    description: 'The agent that executes the runs: a name below agents/, or the uid of an agent of the team',
  }),
  triggers: triggersSchema.default([]),
  config: agentConfigSchema.optional(),
});

/** The front matter of `agents/<name>/agent.md`: how the agent identity is configured. */
export const agentFileSchema = z.strictObject({
  description: text(1000).optional(),
  environment_id: environmentId.optional(),
  base_model: shortText.optional(),
  harness: harness.optional(),
  harness_auth_secrets: harnessAuthSecrets.optional(),
  secrets: z.array(secretName).max(100).default([]),
  skills: skillSpecs.default([]),
  mcp_servers: mcpServers.optional(),
  worker_host: shortText.optional(),
  inference_providers: inferenceProviders.optional(),
  credential_strategy: oneOf(CREDENTIAL_STRATEGIES).optional(),
});

const share = z.number().min(0).max(1);
const label = z.strictObject({
  value: text(64).regex(ONE_LINE, ONE_LINE_RULE),
  score: share,
  description: text(1000).optional(),
});

/** The front matter of `scorers/<name>/scorer.md`; what follows it is the rubric. */
export const scorerFileSchema = z
  .strictObject({
    agents: z
      .array(name)
      .min(1)
      .max(100)
      .meta({ description: 'Whose runs it grades: names below agents/, or uids of agents of the team' }),
    labels: z.array(label).min(2).max(50).meta({ description: 'The verdicts, and what each is worth' }),
    passing_score: share,
    sampling_rate: share
      .default(0.25)
      .meta({ description: 'The share of the runs that it grades by itself' }),
    model_id: shortText
      .optional()
      .meta({ description: "The judge's model; the system's default without it" }),
    harness: harness.optional(),
  })
  .superRefine(({ labels, passing_score: passingScore }, context) => {
    const passing = labels.filter(({ score }) => score >= passingScore).length;
    if (passing > 0 && passing < labels.length) return;
    const message = 'must have one whose score reaches passing_score, and one whose score does not';
    context.addIssue({ code: 'custom', path: ['labels'], message });
  });

const PUBLISHED = {
  factory: { title: 'factory.yaml', schema: factoryFileSchema },
  webhook: { title: 'webhooks/<name>.yaml', schema: webhookFileSchema },
  automation: { title: 'Front matter of automations/<name>/automation.md', schema: automationFileSchema },
  agent: { title: 'Front matter of agents/<name>/agent.md', schema: agentFileSchema },
  scorer: { title: 'Front matter of scorers/<name>/scorer.md', schema: scorerFileSchema },
};
export type DefinitionKind = keyof typeof PUBLISHED;
export const DEFINITION_KINDS = Object.keys(PUBLISHED) as DefinitionKind[];

/** The JSON Schema (draft 2020-12) of a definition file, for editors and other tools. */
export function jsonSchemaOf(kind: DefinitionKind): object {
  const { title, schema } = PUBLISHED[kind];
  const generated = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.millwright !== 'payload-filter') return;
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
      Object.assign(jsonSchema, FILTER_JSON_SCHEMA);
    },
  });
  return { ...generated, title };
}
