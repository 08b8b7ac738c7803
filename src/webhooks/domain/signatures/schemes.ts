import type { SignatureScheme } from '../signature-scheme.js';
import { base64, type Grammar, hex, list, single, verbatim } from './signature-header.js';
import { comparison, hmac, type KeyMaker, standardWebhooksKey } from './signing-key.js';

/** Headers that belong together; all of them have to be there, once each. Names are lower case. */
export interface HeaderSet {
  signature: string;
  /** Carries the signed time, in seconds. */
  timestamp?: string;
  /** Carries the delivery's signed id. */
  id?: string;
}

/** How a provider signs its deliveries. */
export interface Scheme {
  /** The sets of headers that a request may carry: the first that is whole is taken, and sets are never mixed. */
  headers: HeaderSet[];
  grammar: Grammar;
  key: KeyMaker;
  /** What is signed before the body's bytes. */
  prefix?: (signed: { timestamp: string; id: string }) => string;
  /** How far the signed time may be off, in seconds, both ways. */
  windowSeconds?: number;
  /** The body's own signed time, in milliseconds, and how far it may be off, both ways. */
  bodyTime?: { field: string; windowSeconds: number };
  /** Where the provider says which delivery it is: a header, or a field of the signed body. A set's `id` goes before it. */
  delivery?: { header: string } | { bodyField: string };
  /** What the log keeps of the request's headers, besides what it keeps of every request. */
  logged: string[];
}

const FIVE_MINUTES = 5 * 60;

const standardWebhooks: Scheme = {
  headers: [
    { signature: 'webhook-signature', timestamp: 'webhook-timestamp', id: 'webhook-id' },
    { signature: 'svix-signature', timestamp: 'svix-timestamp', id: 'svix-id' },
  ],
  grammar: list({ separator: ' ', assignment: ',', versions: { v1: base64(32), v1a: base64(64) } }),
  key: standardWebhooksKey,
  prefix: ({ id, timestamp }) => `${id}.${timestamp}.`,
  windowSeconds: FIVE_MINUTES,
  logged: ['webhook-id', 'webhook-timestamp', 'svix-id', 'svix-timestamp'],
};

const gitlabToken: Scheme = {
  headers: [{ signature: 'x-gitlab-token' }],
  grammar: single('', verbatim),
  key: comparison,
  delivery: { header: 'x-gitlab-event-uuid' },
  logged: ['x-gitlab-event', 'x-gitlab-event-uuid', 'x-gitlab-instance'],
};

/** HMAC-SHA256 of the body alone, as `sha256=<hex>`. */
const hubSignature = (header: string) => ({
  headers: [{ signature: header }],
  grammar: single('sha256=', hex(32)),
  key: hmac('sha256'),
});

/** A scheme, or the schemes that a provider's secrets choose between. */
type Row = Scheme | { variants: Scheme[]; choose: (secret: string) => Scheme };

/** Every provider's scheme, as its documentation or SDK gives it. A new one is a new row. */
export const SCHEMES: Readonly<Record<SignatureScheme, Row>> = {
  github: {
    ...hubSignature('x-hub-signature-256'),
    delivery: { header: 'x-github-delivery' },
    logged: ['x-github-delivery', 'x-github-event', 'x-github-hook-id'],
  },
  stripe: {
    headers: [{ signature: 'stripe-signature' }],
    grammar: list({ separator: ',', assignment: '=', versions: { v1: hex(32) }, timestamp: 't' }),
    key: hmac('sha256', 'v1'),
    prefix: ({ timestamp }) => `${timestamp}.`,
    windowSeconds: FIVE_MINUTES,
    // A retry is signed anew and need not be the same bytes; the event's id stays.
    delivery: { bodyField: 'id' },
    logged: [],
  },
  standard_webhooks: standardWebhooks,
  sentry: {
    headers: [{ signature: 'sentry-hook-signature' }, { signature: 'sentry-app-signature' }],
    grammar: single('', hex(32)),
    key: hmac('sha256'),
    delivery: { header: 'request-id' },
    logged: ['request-id', 'sentry-hook-resource', 'sentry-hook-timestamp'],
  },
  pagerduty: {
    headers: [{ signature: 'x-pagerduty-signature' }],
    grammar: list({ separator: ',', assignment: '=', versions: { v1: hex(32) } }),
    key: hmac('sha256', 'v1'),
    delivery: { header: 'x-webhook-id' },
    logged: ['x-webhook-id', 'x-webhook-subscription'],
  },
  vercel: {
    headers: [{ signature: 'x-vercel-signature' }],
    grammar: single('', hex(20)),
    key: hmac('sha1'),
    delivery: { bodyField: 'id' },
    logged: [],
  },
  gitlab: {
    variants: [standardWebhooks, gitlabToken],
    // A signing token has this prefix; any other secret is the older kind, which is sent as it is.
    choose: (secret) =>
      secret.startsWith('whsec_')
        ? { ...standardWebhooks, logged: [...standardWebhooks.logged, ...gitlabToken.logged] }
        : gitlabToken,
  },
  slack: {
    headers: [{ signature: 'x-slack-signature', timestamp: 'x-slack-request-timestamp' }],
    grammar: single('v0=', hex(32)),
    key: hmac('sha256'),
    prefix: ({ timestamp }) => `v0:${timestamp}:`,
    windowSeconds: FIVE_MINUTES,
    delivery: { bodyField: 'event_id' },
    logged: ['x-slack-retry-num', 'x-slack-retry-reason'],
  },
  linear: {
    headers: [{ signature: 'linear-signature' }],
    grammar: single('', hex(32)),
    key: hmac('sha256'),
    bodyTime: { field: 'webhookTimestamp', windowSeconds: 60 },
    delivery: { header: 'linear-delivery' },
    logged: ['linear-delivery', 'linear-event'],
  },
  shopify: {
    headers: [{ signature: 'x-shopify-hmac-sha256' }],
    grammar: single('', base64(32)),
    key: hmac('sha256'),
    delivery: { header: 'x-shopify-webhook-id' },
    logged: ['x-shopify-webhook-id', 'x-shopify-topic', 'x-shopify-shop-domain', 'x-shopify-api-version'],
  },
  bitbucket: {
    ...hubSignature('x-hub-signature'),
    delivery: { header: 'x-request-uuid' },
    logged: ['x-request-uuid', 'x-event-key', 'x-hook-uuid'],
  },
  jira: {
    ...hubSignature('x-hub-signature'),
    delivery: { header: 'x-atlassian-webhook-identifier' },
    logged: ['x-atlassian-webhook-identifier', 'x-atlassian-webhook-flow'],
  },
};

/** The scheme that a secret of this provider is used with. */
export function schemeOf(name: SignatureScheme, secret: string): Scheme {
  const row = SCHEMES[name];
  return 'choose' in row ? row.choose(secret) : row;
}

/** The headers in which any scheme carries its credential: they identify no delivery. */
export const SIGNATURE_HEADERS: ReadonlySet<string> = new Set(
  Object.values(SCHEMES)
    .flatMap((row) => ('variants' in row ? row.variants : [row]))
    .flatMap((scheme) => scheme.headers.map(({ signature }) => signature)),
);
