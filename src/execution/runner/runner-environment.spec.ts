import { describe, expect, it } from '@jest/globals';
import { readRunnerEnvironment } from './runner-environment.js';

const COMPLETE = {
  WARP_SERVER_ROOT_URL: 'http://127.0.0.1:8080',
  OZ_RUN_ID: 'run',
  WARP_API_KEY: 'wk-secret',
  WARP_WORKLOAD_TOKEN: 'token-secret',
};

describe('readRunnerEnvironment', () => {
  it.each([
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/'],
    ['https://example.com/millwright', 'https://example.com/millwright/'],
    ['https://example.com/millwright/', 'https://example.com/millwright/'],
  ])('reads the root %s', (root, href) => {
    const environment = readRunnerEnvironment({ ...COMPLETE, WARP_SERVER_ROOT_URL: root });
    expect(environment).toMatchObject({ runId: 'run', apiKey: 'wk-secret', workloadToken: 'token-secret' });
    expect(environment.rootUrl.href).toBe(href);
  });

  it.each(Object.keys(COMPLETE))('names %s when it is missing', (name) => {
    expect(() => readRunnerEnvironment({ ...COMPLETE, [name]: '' })).toThrow(`${name} is not set`);
  });

  it.each(['127.0.0.1:8080', 'ftp://x', 'http://', 'secret'])(
    'refuses the root %s without quoting it',
    (root) => {
      const read = (): unknown => readRunnerEnvironment({ ...COMPLETE, WARP_SERVER_ROOT_URL: root });
      expect(read).toThrow('The environment variable WARP_SERVER_ROOT_URL is not an http or https URL.');
    },
  );
});
