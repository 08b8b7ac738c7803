import { resolve } from 'node:path';
import { z } from 'zod';
import { type AppConfig, ROLES, type S3Config } from './app-config.js';

/** A configuration that cannot be used. The message names each variable and its rule, never a value: it may be a secret. */
export class InvalidConfigError extends Error {
  constructor(readonly problems: { variable: string; message: string }[]) {
    super(
      ['The configuration is not valid:', ...problems.map((p) => `  ${p.variable}: ${p.message}`)].join('\n'),
    );
  }
}

const wholeNumber = (minimum: number, maximum: number) => {
  const message = `must be a whole number from ${String(minimum)} to ${String(maximum)}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, message);
};

const url = (schemes: string[], message: string) =>
  z.string().refine((value) => URL.canParse(value) && schemes.includes(new URL(value).protocol), message);

const withoutTrailingSlash = (address: string): string => address.replace(/\/+$/, '');

const KEY_BYTES = 32;

const encryptionKey = z
  .base64(`must be ${String(KEY_BYTES)} bytes in base64`)
  .transform((value) => Buffer.from(value, 'base64'))
  .refine((key) => key.length === KEY_BYTES, `must be ${String(KEY_BYTES)} bytes in base64`);

const environmentSchema = z.object({
  NODE_ENV: z.string().optional(),
  PORT: wholeNumber(1, 65_535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: url(['http:', 'https:'], 'must be an http or https URL').optional(),
  WEBHOOK_BASE_URL: url(['http:', 'https:'], 'must be an http or https URL').optional(),
  DATA_DIR: z.string().default('./.data'),
  DATABASE_URL: url(['postgres:', 'postgresql:'], 'must be a postgres:// URL').optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500).default(20),
  ENCRYPTION_KEY: encryptionKey.optional(),
  ENCRYPTION_KEY_PREVIOUS: encryptionKey.optional(),
  BOOTSTRAP_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{32,200}$/, 'must be 32 to 200 printable characters without spaces')
    .optional(),
  ROLES: z
    .string()
    .transform((value) => value.split(',').map((role) => role.trim()))
    .pipe(z.array(z.enum(ROLES, `must be a list of ${ROLES.join(', ')}`)).min(1))
    .default([...ROLES]),
  WORKER_SLOTS: wholeNumber(0, 1000).default(2),
  S3_BUCKET: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/, 'must be the name of a bucket')
    .optional(),
  S3_ENDPOINT: url(['http:', 'https:'], 'must be an http or https URL').optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_FORCE_PATH_STYLE: z.enum(['true', 'false'], 'must be true or false').default('false'),
  DOWNLOAD_URL_TTL_SECONDS: wholeNumber(1, 604_800).default(900),
  CLAIM_DEADLINE_SECONDS: wholeNumber(1, 3600).default(45),
  LEASE_SECONDS: wholeNumber(1, 86_400).default(300),
  MAX_RUN_MINUTES: wholeNumber(1, 100_000).default(360),
  STALL_MINUTES: wholeNumber(0, 100_000).default(30),
  DRAIN_SECONDS: wholeNumber(0, 3600).default(10),
  TEAM_MAX_AGENTS: wholeNumber(0, 1000).default(0),
  TEAM_MAX_CONCURRENT_RUNS: wholeNumber(0, 1_000_000).default(0),
  API_REQUESTS_PER_MINUTE: wholeNumber(0, 1_000_000).default(1200),
  WEBHOOK_DELIVERIES_PER_MINUTE: wholeNumber(0, 1_000_000).default(60),
  WEBHOOK_FAILED_AUTH_PER_MINUTE: wholeNumber(0, 1_000_000).default(60),
  TRUSTED_PROXIES: wholeNumber(0, 10).default(0),
  GIT_BASE_URL: url(['https:', 'http:', 'file:', 'ssh:'], 'must be an https, http, ssh or file URL').default(
    'https://github.com',
  ),
  GIT_TOKEN_SECRET: z.string().max(256, 'must be the name of a secret').optional(),
  MODELS_FILE: z.string().optional(),
  METADATA_FILTERING: z.enum(['on', 'off'], 'must be on or off').default('on'),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
});

/**
 * Reads the configuration from environment variables; an empty variable counts as absent.
 *
 * @throws InvalidConfigError naming every variable that is wrong
 */
export function parseConfig(environment: Record<string, string | undefined>): AppConfig {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) {
    throw new InvalidConfigError(
      parsed.error.issues.map((issue) => ({
        variable: issue.path.map(String)[0] ?? 'environment',
        message: issue.message,
      })),
    );
  }
  const values = parsed.data;
  const production = values.NODE_ENV === 'production';
  if (production && values.ENCRYPTION_KEY === undefined) {
    throw new InvalidConfigError([
      { variable: 'ENCRYPTION_KEY', message: 'is required in production (openssl rand -base64 32)' },
    ]);
  }
  const publicUrl = withoutTrailingSlash(values.PUBLIC_URL ?? `http://localhost:${String(values.PORT)}`);
  const s3 = s3ConfigOf(values);
  return Object.freeze({
    production,
    port: values.PORT,
    host: values.HOST,
    publicUrl,
    webhookBaseUrl: withoutTrailingSlash(values.WEBHOOK_BASE_URL ?? publicUrl),
    dataDir: resolve(values.DATA_DIR),
    databaseUrl: values.DATABASE_URL,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    encryptionKey: values.ENCRYPTION_KEY,
    encryptionKeyPrevious: values.ENCRYPTION_KEY_PREVIOUS,
    bootstrapApiKey: values.BOOTSTRAP_API_KEY,
    roles: new Set(values.ROLES),
    workerSlots: values.WORKER_SLOTS,
    s3,
    downloadUrlTtlSeconds: values.DOWNLOAD_URL_TTL_SECONDS,
    claimDeadlineSeconds: values.CLAIM_DEADLINE_SECONDS,
    leaseSeconds: values.LEASE_SECONDS,
    maxRunMinutes: values.MAX_RUN_MINUTES,
    stallMinutes: values.STALL_MINUTES,
    drainSeconds: values.DRAIN_SECONDS,
    teamMaxAgents: values.TEAM_MAX_AGENTS,
    teamMaxConcurrentRuns: values.TEAM_MAX_CONCURRENT_RUNS,
    apiRequestsPerMinute: values.API_REQUESTS_PER_MINUTE,
    webhookDeliveriesPerMinute: values.WEBHOOK_DELIVERIES_PER_MINUTE,
    webhookFailedAuthPerMinute: values.WEBHOOK_FAILED_AUTH_PER_MINUTE,
    trustedProxies: values.TRUSTED_PROXIES,
    gitBaseUrl: withoutTrailingSlash(values.GIT_BASE_URL),
    gitTokenSecret: values.GIT_TOKEN_SECRET,
    modelsFile: values.MODELS_FILE,
    metadataFiltering: values.METADATA_FILTERING === 'on',
    logLevel: values.LOG_LEVEL,
  });
}

/** @throws InvalidConfigError when only a part of what goes together is given */
function s3ConfigOf(values: z.infer<typeof environmentSchema>): S3Config | undefined {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if (bucket === undefined) {
    const given = [values.S3_ENDPOINT, accessKeyId, secretAccessKey].some((value) => value !== undefined);
    if (!given) return undefined;
    throw new InvalidConfigError([
      { variable: 'S3_BUCKET', message: 'is required with the other S3 settings' },
    ]);
  }
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    const variable = accessKeyId === undefined ? 'S3_ACCESS_KEY_ID' : 'S3_SECRET_ACCESS_KEY';
    throw new InvalidConfigError([{ variable, message: 'is required with its counterpart' }]);
  }
  return Object.freeze({
    bucket,
    endpoint: values.S3_ENDPOINT,
    region: values.S3_REGION,
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : Object.freeze({ accessKeyId, secretAccessKey }),
    forcePathStyle: values.S3_FORCE_PATH_STYLE === 'true',
  });
}
