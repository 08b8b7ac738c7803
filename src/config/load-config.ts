import { config as readEnvFile } from 'dotenv';
import type { AppConfig } from './app-config.js';
import { parseConfig } from './parse-config.js';

/** Reads `.env` in the working directory, if there is one, and the environment, which wins. */
export function loadConfig(): AppConfig {
  readEnvFile({ quiet: true });
  return parseConfig(process.env);
}
