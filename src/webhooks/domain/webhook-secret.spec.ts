import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { generateSecret, secretFault, type SecretUse, suggestedSecretName } from './webhook-secret.js';
import { SIGNATURE_SCHEMES, type SignatureScheme } from './signature-scheme.js';

const TOKEN: SecretUse = { authMode: 'token', signatureScheme: null };
const URL_TOKEN: SecretUse = { authMode: 'url_token', signatureScheme: null };
const signed = (signatureScheme: SignatureScheme): SecretUse => ({ authMode: 'signature', signatureScheme });
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64');

describe('generateSecret', () => {
  it('makes what its use takes, with 256 random bits', () => {
    for (const use of [TOKEN, URL_TOKEN, signed('standard_webhooks')]) {
      const secret = generateSecret(use)!;
      expect(secretFault(use, secret)).toBeUndefined();
      expect(secret).not.toBe(generateSecret(use));
    }
    expect(generateSecret(TOKEN)).toMatch(/^mwhs_[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(generateSecret(signed('standard_webhooks'))!.slice(6), 'base64')).toHaveLength(32);
  });

  it.each(SIGNATURE_SCHEMES.filter((scheme) => scheme !== 'standard_webhooks'))(
    'leaves %s alone',
    (scheme) => {
      expect(generateSecret(signed(scheme))).toBeUndefined();
    },
  );
});

describe('secretFault', () => {
  it.each<[SecretUse, string]>([
    [TOKEN, 'correct.horse+battery/staple'],
    [TOKEN, '12345678'],
    [URL_TOKEN, 'a-b_c.d~e'],
    [signed('github'), "It's a Secret to Everybody"],
    [signed('shopify'), 'hush'],
    [signed('stripe'), 'whsec_test_secret'],
    [signed('gitlab'), 'mysecrettoken'],
    [signed('gitlab'), `whsec_${base64(32)}`],
    [signed('standard_webhooks'), `whsec_${base64(24)}`],
    [signed('standard_webhooks'), base64(64)],
    [signed('standard_webhooks'), `whpk_${base64(32)}`],
  ])('%j takes %s', (use, value) => {
    expect(secretFault(use, value)).toBeUndefined();
  });

  it.each<[SecretUse, string]>([
    [TOKEN, '1234567'],
    [TOKEN, 'with a space'],
    [TOKEN, 'line\nbreak'],
    [TOKEN, 'žluťoučký'],
    [TOKEN, 'x'.repeat(1025)],
    [URL_TOKEN, 'slash/slash'],
    [URL_TOKEN, 'percent%20'],
    [URL_TOKEN, '........?'],
    [signed('github'), 'ü'.repeat(513)],
    [signed('github'), ''],
    [signed('gitlab'), 'whsec_short'],
    [signed('standard_webhooks'), `whsec_${base64(23)}`],
    [signed('standard_webhooks'), `whsec_${base64(65)}`],
    [signed('standard_webhooks'), `whpk_${base64(31)}`],
    [signed('standard_webhooks'), 'not base64!'],
  ])('%j does not take %s, and does not repeat it', (use, value) => {
    const fault = secretFault(use, value);
    expect(fault).toMatch(/^must /);
    if (value !== '') expect(fault).not.toContain(value);
  });
});

describe('suggestedSecretName', () => {
  it.each([
    ['github', /^WEBHOOK_GITHUB_[2-9A-Z]{4}$/],
    ['Žluťoučký kůň — 2', /^WEBHOOK_ZLUTOUCKY_KUN_2_[2-9A-Z]{4}$/],
    ['日本', /^WEBHOOK_[2-9A-Z]{4}$/],
    ['x'.repeat(200), /^WEBHOOK_X{100}_[2-9A-Z]{4}$/],
  ])('of %s is %s', (name, expected) => {
    expect(suggestedSecretName(name)).toMatch(expected);
  });
});
