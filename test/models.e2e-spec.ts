import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Models } from '../src/catalog/index.js';
import { InvalidConfigError, parseConfig } from '../src/config/parse-config.js';
import { createApp } from '../src/create-app.js';
import { SystemClock } from '../src/kernel/clock.js';
import { DatabaseUrl } from '../src/kernel/persistence/database-url.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;

beforeAll(async () => {
  server = await startTestApp();
});
afterAll(async () => {
  await server.close();
});

const catalogue = (models: string) => `default: ours
models:
  - id: ours
    display_name: Ours
    provider: UNKNOWN
    harness: [codex, oz]
    vision_supported: true
    reasoning_level: high
    cost: { input_usd_per_million_tokens: 1.5, output_usd_per_million_tokens: 6 }
  - id: tired
    display_name: Tired
    provider: GOOGLE
    harness: [gemini]
    vision_supported: false
    disabled: PROVIDER_OUTAGE
${models}`;

async function fileOf(content: string): Promise<string> {
  const path = join(tmpdir(), `models-${String(process.pid)}.yaml`);
  await writeFile(path, content);
  return path;
}

describe('GET /v1/agent/models', () => {
  it('lists what is shipped; `script` is the default', async () => {
    const { status, body } = await server.call('GET', '/v1/agent/models');
    expect(status).toBe(200);
    const { default_model_id, models } = body as { default_model_id: string; models: { id: string }[] };
    expect(default_model_id).toBe('script');
    expect(models.find(({ id }) => id === 'script')).toEqual({
      id: 'script',
      display_name: 'Script',
      provider: 'UNKNOWN',
      vision_supported: false,
      description: expect.any(String) as unknown,
    });
    expect(models.length).toBeGreaterThan(5);
  });

  it('wants a key', async () => {
    expect((await server.call('GET', '/v1/agent/models', undefined, { Authorization: '' })).status).toBe(401);
  });

  it('lists what MODELS_FILE holds, and `script` besides', async () => {
    const replica = await startTestApp({ MODELS_FILE: await fileOf(catalogue('')) }, server);
    try {
      const { body } = await replica.call('GET', '/v1/agent/models');
      expect(body).toEqual({
        default_model_id: 'ours',
        models: [
          expect.objectContaining({ id: 'script' }),
          {
            id: 'ours',
            display_name: 'Ours',
            provider: 'UNKNOWN',
            vision_supported: true,
            reasoning_level: 'high',
            cost: { input_usd_per_million_tokens: 1.5, output_usd_per_million_tokens: 6 },
          },
          {
            id: 'tired',
            display_name: 'Tired',
            provider: 'GOOGLE',
            vision_supported: false,
            disable_reason: 'PROVIDER_OUTAGE',
          },
        ],
      });
      const models = replica.app.get(Models);
      expect(models.defaultModelId).toBe('ours');
      expect(models.check('ours')).toEqual({ outcome: 'ok', harnesses: ['codex', 'oz'] });
      expect(models.check('script')).toEqual({ outcome: 'ok', harnesses: ['oz'] });
      expect(models.check('tired')).toEqual({ outcome: 'disabled', reason: 'PROVIDER_OUTAGE' });
      expect(models.check('toString')).toEqual({ outcome: 'unknown' });
    } finally {
      await replica.close();
    }
  });
});

describe('a catalogue that cannot be used stops the start', () => {
  const startWith = (path: string) =>
    createApp({
      config: parseConfig({ LOG_LEVEL: 'silent', MODELS_FILE: path }),
      databaseUrl: new DatabaseUrl(server.databaseUrl),
      dataSource: server.dataSource,
      encryptionKey: server.encryptionKey,
      clock: new SystemClock(),
    });

  it('naming the file, the line and the rule', async () => {
    const path = await fileOf(catalogue('  - id: half\n    provider: X\n'));
    const error: unknown = await startWith(path).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidConfigError);
    const { message } = error as InvalidConfigError;
    expect(message).toContain(`MODELS_FILE: ${path}:17: models[2].provider: `);
    expect(message).toContain(`MODELS_FILE: ${path}:16: models[2].display_name: `);
  });

  it('naming the file when it is not there', async () => {
    await expect(startWith('/nowhere/models.yaml')).rejects.toThrow(
      'MODELS_FILE: /nowhere/models.yaml cannot be read (ENOENT)',
    );
  });
});
