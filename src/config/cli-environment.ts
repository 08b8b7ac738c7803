/** What the command line client reads from the environment. */
export interface CliEnvironment {
  /** Where the service answers, without a trailing slash. */
  url: string;
  apiKey: string;
}

/** Names the variable that is wrong, never its value: it may be a secret. */
export class CliEnvironmentError extends Error {}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/**
 * Reads MILLWRIGHT_URL and MILLWRIGHT_API_KEY; an empty variable counts as absent.
 *
 * @throws CliEnvironmentError when there is no key, or what is there cannot be a key or an address
 */
export function readCliEnvironment(source: NodeJS.ProcessEnv = process.env): CliEnvironment {
  const url = (source['MILLWRIGHT_URL'] || DEFAULT_URL).replace(/\/+$/, '');
  if (!isPlainHttpUrl(url)) {
    throw new CliEnvironmentError(
      `MILLWRIGHT_URL must be an http or https URL without a user name, query or fragment, such as ${DEFAULT_URL}.`,
    );
  }
  const apiKey = source['MILLWRIGHT_API_KEY'];
  if (!apiKey) {
    throw new CliEnvironmentError('No API key: set the environment variable MILLWRIGHT_API_KEY to yours.');
  }
  // fetch would refuse it as a header with an error that quotes it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new CliEnvironmentError(
      'MILLWRIGHT_API_KEY holds a space, a line break or another character that no key has.',
    );
  }
  return { url, apiKey };
}

function isPlainHttpUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === '';
}
