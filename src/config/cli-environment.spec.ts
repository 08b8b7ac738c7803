import { describe, expect, it } from '@jest/globals';
import { CliEnvironmentError, readCliEnvironment } from './cli-environment.js';

const KEY = 'wk-0123456789';
const messageOf = (environment: Record<string, string>): string => {
  try {
    readCliEnvironment(environment);
    return '';
  } catch (error) {
    if (error instanceof CliEnvironmentError) return error.message;
    throw error;
  }
};

describe('the environment of the command line client', () => {
  it('has a default address, and takes an empty variable for an absent one', () => {
    expect(readCliEnvironment({ MILLWRIGHT_URL: '', MILLWRIGHT_API_KEY: KEY })).toEqual({
      url: 'http://127.0.0.1:8080',
      apiKey: KEY,
    });
  });

  it('takes an address with a path and without its last slash', () => {
    const { url } = readCliEnvironment({
      MILLWRIGHT_URL: 'https://x.example/mill/',
      MILLWRIGHT_API_KEY: KEY,
    });
    expect(url).toBe('https://x.example/mill');
  });

  it.each([
    'x.example',
    'ftp://x.example',
    'http://hunter2:hunter2@x',
    'http://x?hunter2',
    'http://x:hunter2',
  ])('refuses the address %s without repeating it', (url) => {
    const message = messageOf({ MILLWRIGHT_URL: url, MILLWRIGHT_API_KEY: KEY });
    expect(message).toContain('MILLWRIGHT_URL');
    expect(message).not.toContain(url);
    expect(message).not.toContain('hunter2');
  });

  it.each(['', 'hunter2\n', 'hunter 2', 'hünter2'])('refuses the key %j without repeating it', (key) => {
    const message = messageOf({ MILLWRIGHT_API_KEY: key });
    expect(message).toContain('MILLWRIGHT_API_KEY');
    if (key !== '') expect(message).not.toContain(key.trim());
  });
});
