import type { SignatureScheme } from './signature-scheme.js';

/** How a sender proves itself: a bearer token, a token in the URL, or a signature of each request. */
export const AUTH_MODES = ['token', 'url_token', 'signature'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** Of a factory. */
export const MAX_WEBHOOKS = 20;

/** A webhook as people see it: never its secret. */
export interface Webhook {
  uid: string;
  factoryUid: string;
  teamUid: string;
  name: string;
  authMode: AuthMode;
  /** Exactly when the mode is `signature`. */
  signatureScheme: SignatureScheme | null;
  /** The team's secret that the webhook takes its copy from. */
  secretName: string;
  /** The webhook made that secret itself, so rotation gives it the new value too. */
  madeSecret: boolean;
  deliveryIdHeader: string | null;
  enabled: boolean;
  /** It has no secret yet: its provider issues one for the ingress URL. */
  awaitingSecret: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** What a webhook's signing secret is encrypted for: it opens in this row and in no other. */
export const webhookSecretContext = (uid: string): string => `webhook:${uid}`;
