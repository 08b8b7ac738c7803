/** Parts of the work that a process can do. A process that has not `api` still answers health and metrics. */
export const ROLES = ['api', 'ingress', 'evaluator', 'scheduler', 'dispatcher', 'sweeper'] as const;
export type Role = (typeof ROLES)[number];

/** A bucket of S3, or of anything that speaks its protocol. */
export interface S3Config {
  readonly bucket: string;
  /** Undefined = Amazon's own, by the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Undefined = those of the environment, as the AWS SDK finds them. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** Whether the bucket stands in the path of URLs, not in the host name. */
  readonly forcePathStyle: boolean;
}

/**
 * The whole configuration, parsed once at start and frozen. It is also the injection token.
 * What each value is called in the environment, its default and its bounds stand in `parse-config.ts`.
 */
export abstract class AppConfig {
  /** True when NODE_ENV is `production`. */
  abstract readonly production: boolean;
  abstract readonly port: number;
  abstract readonly host: string;
  /** Where clients reach this service, without a trailing slash. */
  abstract readonly publicUrl: string;
  /** Where senders reach the ingress of webhooks, without a trailing slash. */
  abstract readonly webhookBaseUrl: string;
  /** Absolute path of the directory for the embedded database, objects, workspaces and generated secrets. */
  abstract readonly dataDir: string;
  /** A PostgreSQL server to use; undefined = the embedded one. */
  abstract readonly databaseUrl: string | undefined;
  /** Connections of this process to PostgreSQL at most. */
  abstract readonly databasePoolSize: number;
  /** 32 bytes; undefined = generated into the data directory. */
  abstract readonly encryptionKey: Buffer | undefined;
  /** The encryption key of before; what was encrypted with it is re-encrypted at the start. */
  abstract readonly encryptionKeyPrevious: Buffer | undefined;
  abstract readonly bootstrapApiKey: string | undefined;
  abstract readonly roles: ReadonlySet<Role>;
  /** Runs that the built-in worker executes at a time; 0 = no built-in worker. */
  abstract readonly workerSlots: number;
  /** Where objects lie; undefined = in the data directory. */
  abstract readonly s3: S3Config | undefined;
  abstract readonly downloadUrlTtlSeconds: number;
  /** How long an assigned run may stay unclaimed before it is queued again. */
  abstract readonly claimDeadlineSeconds: number;
  /** How long a claimed run lives without a sign of its runner or worker. */
  abstract readonly leaseSeconds: number;
  /** How long one execution may take. */
  abstract readonly maxRunMinutes: number;
  /** How long an agent may say nothing; 0 = for ever. */
  abstract readonly stallMinutes: number;
  /** How long a stop waits for the runs of the built-in worker before it ends them. */
  abstract readonly drainSeconds: number;
  /** Agent identities of a team that may be used; 0 = any number. */
  abstract readonly teamMaxAgents: number;
  /** Runs of a team that may be with workers at a time; 0 = any number. */
  abstract readonly teamMaxConcurrentRuns: number;
  /** Requests that one API key may make in a minute, on each replica; 0 = any number. */
  abstract readonly apiRequestsPerMinute: number;
  /** Authenticated deliveries that a webhook takes in any 60 seconds, over all replicas; 0 = any number. */
  abstract readonly webhookDeliveriesPerMinute: number;
  /** Failed authentications of one client at one webhook in any 60 seconds, over all replicas; 0 = any number. */
  abstract readonly webhookFailedAuthPerMinute: number;
  /** Proxies in front of the service that add the address they saw to `X-Forwarded-For`. */
  abstract readonly trustedProxies: number;
  /** Where repositories are cloned from, as `{base}/{owner}/{repo}`; without a trailing slash. */
  abstract readonly gitBaseUrl: string;
  /** Name of the team secret that holds a token for the repositories; undefined = anonymous. */
  abstract readonly gitTokenSecret: string | undefined;
  /** Path of the catalogue of models; undefined = the one that is shipped. */
  abstract readonly modelsFile: string | undefined;
  /** Whether lists of runs can be filtered by metadata. */
  abstract readonly metadataFiltering: boolean;
  abstract readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
}
