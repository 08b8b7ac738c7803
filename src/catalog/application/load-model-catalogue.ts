import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { InvalidConfigError } from '../../config/parse-config.js';
import type { ModelCatalogue } from '../domain/model.js';
import { parseModelCatalogue } from '../domain/parse-model-catalogue.js';

/** As far from src/ as from dist/: it lies beside both. */
const SHIPPED = fileURLToPath(new URL('../../../config/models.yaml', import.meta.url));

/**
 * Reads the catalogue of models, once, at the start.
 *
 * @param path of the configured file; undefined = the one that is shipped
 * @throws InvalidConfigError naming the file, the lines and the rules when it cannot be used
 */
export function loadModelCatalogue(path = SHIPPED): ModelCatalogue {
  let yaml: string;
  try {
    yaml = readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  const parsed = parseModelCatalogue(yaml);
  if (parsed.outcome === 'parsed') return parsed.catalogue;
  throw invalid(
    ...parsed.problems.map(
      ({ line, message }) => `${path}${line === undefined ? '' : `:${line}`}: ${message}`,
    ),
  );
}

const invalid = (...messages: string[]): InvalidConfigError =>
  new InvalidConfigError(messages.map((message) => ({ variable: 'MODELS_FILE', message })));
