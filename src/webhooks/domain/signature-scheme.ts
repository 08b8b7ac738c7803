/** Whose way of signing requests a webhook verifies; the definition key `signatureScheme`. */
export const SIGNATURE_SCHEMES = [
  'github',
  'stripe',
  'standard_webhooks',
  'sentry',
  'pagerduty',
  'vercel',
  'gitlab',
  'slack',
  'linear',
  'shopify',
  'bitbucket',
  'jira',
] as const;
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];
