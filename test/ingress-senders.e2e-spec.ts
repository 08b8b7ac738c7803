import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sign as signForGithub } from '@octokit/webhooks-methods';
import { randomBytes } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import type { SignatureScheme } from '../src/webhooks/domain/signature-scheme.js';
import { call, startTestApp, type TestApp } from './support/test-app.js';
import { insertWebhook, type TestWebhook } from './support/webhooks.js';

let service: TestApp;
let sequence = 0;

beforeAll(async () => {
  service = await startTestApp({ WEBHOOK_DELIVERIES_PER_MINUTE: '0', WEBHOOK_FAILED_AUTH_PER_MINUTE: '0' });
});
afterAll(() => service.close());

interface Sender {
  scheme: SignatureScheme;
  newSecret: () => string;
  /** Signs as of the time, with the provider's own library. */
  sign: (secret: string, body: string, at: Date) => Promise<Record<string, string>> | Record<string, string>;
  isTimed: boolean;
}

const signingToken = () => `whsec_${randomBytes(32).toString('base64')}`;
const plainSecret = () => randomBytes(24).toString('hex');
const standard = (library: typeof StandardWebhook | typeof SvixWebhook, prefix: string): Sender['sign'] => {
  return (secret, body, at) => {
    const id = `msg_${String((sequence += 1))}`;
    return {
      [`${prefix}-id`]: id,
      [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1000)),
      [`${prefix}-signature`]: new library(secret).sign(id, at, body),
    };
  };
};

const SENDERS: Record<string, Sender> = {
  '@octokit/webhooks-methods': {
    scheme: 'github',
    newSecret: plainSecret,
    sign: async (secret, body) => ({
      'x-hub-signature-256': await signForGithub(secret, body),
      'x-github-delivery': String((sequence += 1)),
    }),
    isTimed: false,
  },
  stripe: {
    scheme: 'stripe',
    newSecret: signingToken,
    sign: (secret, payload, at) => ({
      'stripe-signature': Stripe.webhooks.generateTestHeaderString({
        payload,
        secret,
        timestamp: Math.floor(at.getTime() / 1000),
      }),
    }),
    isTimed: true,
  },
  standardwebhooks: {
    scheme: 'standard_webhooks',
    newSecret: signingToken,
    sign: standard(StandardWebhook, 'webhook'),
    isTimed: true,
  },
  svix: {
    scheme: 'standard_webhooks',
    newSecret: signingToken,
    sign: standard(SvixWebhook, 'svix'),
    isTimed: true,
  },
};

const newBody = () => JSON.stringify({ id: `evt_${String((sequence += 1))}`, text: 'naïve ♥' });
const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1000);

describe.each(Object.entries(SENDERS))(
  'requests that %s signs',
  (_name, { scheme, newSecret, sign, isTimed }) => {
    let target: TestWebhook;
    beforeAll(async () => {
      const secret = newSecret();
      target = await insertWebhook(
        { dataSource: service.dataSource, box: service.app.get(SecretBox) },
        { scheme, secret },
      );
    });
    const deliver = async (body: string | Uint8Array, headers: [string, string][]): Promise<number> => {
      const response = await fetch(service.url + target.path, { method: 'POST', body, headers });
      await response.arrayBuffer();
      return response.status;
    };
    const signed = async (body: string, at = new Date()) =>
      Object.entries(await sign(target.secret, body, at));

    it('are accepted', async () => {
      for (let time = 0; time < 5; time++) {
        const body = newBody();
        expect(await deliver(body, await signed(body))).toBe(202);
      }
    });

    it('are refused with one byte changed, wherever it is', async () => {
      const body = newBody();
      const headers = await signed(body);
      const bytes = Buffer.from(body);
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes);
        changed[at]! ^= 1;
        expect({ at, status: await deliver(changed, headers) }).toEqual({ at, status: 401 });
      }
      expect(await deliver(body, headers)).toBe(202);
    });

    it('are refused without the signature, with it twice, and from another key', async () => {
      const body = newBody();
      const headers = await signed(body);
      const [name, value] = headers.find(([header]) => header.includes('signature'))!;
      const others = headers.filter(([header]) => header !== name);
      expect(await deliver(body, others)).toBe(401);

      expect(await deliver(body, [...headers, [name, value]])).toBe(401);
      expect(await deliver(body, Object.entries(await sign(newSecret(), body, new Date())))).toBe(401);
      expect(await deliver(body, headers)).toBe(202);
    });

    if (isTimed) {
      it('are refused when they are late or early, and not a few seconds before that', async () => {
        for (const [age, status] of [
          [302, 401],
          [-303, 401],
          [290, 202],
          [-290, 202],
        ] as const) {
          const body = newBody();
          expect({ age, status: await deliver(body, await signed(body, secondsAgo(age))) }).toEqual({
            age,
            status,
          });
        }
      });
    }
  },
);

it('the API itself is called with other credentials than the ingress', async () => {
  const target = await insertWebhook({ dataSource: service.dataSource, box: service.app.get(SecretBox) });
  const { status } = await call(`${service.url}/v1/me`, 'GET', undefined, {
    Authorization: `Bearer ${target.secret}`,
  });
  expect(status).toBe(401);
});
