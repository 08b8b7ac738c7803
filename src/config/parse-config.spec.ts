import { describe, expect, it } from '@jest/globals';
import { InvalidConfigError, parseConfig } from './parse-config.js';

const problemsOf = (environment: Record<string, string>): { variable: string; message: string }[] => {
  try {
    parseConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.problems;
    throw error;
  }
};

describe('parseConfig', () => {
  it('gives a fresh installation everything that it needs', () => {
    const config = parseConfig({});
    expect(config).toMatchObject({
      port: 8080,
      host: '127.0.0.1',
      publicUrl: 'http://localhost:8080',
      workerSlots: 2,
      claimDeadlineSeconds: 45,
      leaseSeconds: 300,
    });
    expect([...config.roles]).toEqual(['api', 'ingress', 'evaluator', 'scheduler', 'dispatcher', 'sweeper']);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('treats an empty variable as absent and strips the slash of PUBLIC_URL', () => {
    expect(parseConfig({ PORT: '', PUBLIC_URL: 'https://mill.example/' })).toMatchObject({
      port: 8080,
      publicUrl: 'https://mill.example',
      webhookBaseUrl: 'https://mill.example',
    });
    expect(parseConfig({ WEBHOOK_BASE_URL: 'https://hooks.example/in/' })).toMatchObject({
      publicUrl: 'http://localhost:8080',
      webhookBaseUrl: 'https://hooks.example/in',
    });
  });

  it.each([
    ['PORT', '70000'],
    ['PORT', '8o80'],
    ['PUBLIC_URL', 'mill.example'],
    ['WEBHOOK_BASE_URL', 'ftp://hunter2.example'],
    ['DATABASE_URL', 'mysql://hunter2@db/app'],
    ['ENCRYPTION_KEY', 'aHVudGVyMg=='],
    ['BOOTSTRAP_API_KEY', 'hunter2'],
    ['ROLES', 'api,hunter2'],
    ['LEASE_SECONDS', '90001'],
    ['LOG_LEVEL', 'hunter2'],
    ['S3_BUCKET', 'hunter2/'],
    ['S3_FORCE_PATH_STYLE', 'hunter2'],
  ])('names %s when it is wrong and keeps its value to itself', (variable, value) => {
    const problems = problemsOf({ [variable]: value });
    expect(problems.map((problem) => problem.variable)).toEqual([variable]);
    expect(JSON.stringify(problems)).not.toContain(value);
  });

  it('takes the S3 settings together or not at all', () => {
    const keys = { S3_ACCESS_KEY_ID: 'AKIA', S3_SECRET_ACCESS_KEY: 'hunter2' };
    const named = (environment: Record<string, string>) =>
      problemsOf(environment).map((problem) => problem.variable);
    expect(parseConfig({}).s3).toBeUndefined();
    expect(parseConfig({ S3_BUCKET: 'mill', S3_REGION: 'eu-west-1', ...keys }).s3).toEqual({
      bucket: 'mill',
      region: 'eu-west-1',
      endpoint: undefined,
      credentials: { accessKeyId: 'AKIA', secretAccessKey: 'hunter2' },
      forcePathStyle: false,
    });
    expect(named(keys)).toEqual(['S3_BUCKET']);
    expect(named({ S3_BUCKET: 'mill', S3_ACCESS_KEY_ID: 'AKIA' })).toEqual(['S3_SECRET_ACCESS_KEY']);
    expect(named({ S3_BUCKET: 'mill', S3_SECRET_ACCESS_KEY: 'hunter2' })).toEqual(['S3_ACCESS_KEY_ID']);
  });

  it('names every wrong variable at once', () => {
    expect(problemsOf({ PORT: 'x', LEASE_SECONDS: '0' }).map((problem) => problem.variable)).toEqual([
      'PORT',
      'LEASE_SECONDS',
    ]);
  });

  it('wants an encryption key in production', () => {
    expect(problemsOf({ NODE_ENV: 'production' })).toEqual([
      { variable: 'ENCRYPTION_KEY', message: 'is required in production (openssl rand -base64 32)' },
    ]);
  });
});
