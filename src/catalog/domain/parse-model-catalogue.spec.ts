import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { type ModelCatalogue, SCRIPT } from './model.js';
import { type CatalogueProblem, parseModelCatalogue } from './parse-model-catalogue.js';

const GOOD = `default: a-1
models:
  - id: a-1
    display_name: A
    provider: ANTHROPIC
    harness: [claude]
    vision_supported: true
  - id: b-1
    display_name: B
    provider: OPENAI
    harness: [codex]
    vision_supported: false
    disabled: ADMIN_DISABLED
`;

const catalogueOf = (yaml: string): ModelCatalogue => {
  const parsed = parseModelCatalogue(yaml);
  if (parsed.outcome === 'invalid') throw new Error(JSON.stringify(parsed.problems));
  return parsed.catalogue;
};

const problemsOf = (yaml: string): CatalogueProblem[] => {
  const parsed = parseModelCatalogue(yaml);
  return parsed.outcome === 'invalid' ? parsed.problems : [];
};

describe('parseModelCatalogue', () => {
  it('reads models in their order, and puts `script` first where it is missing', () => {
    const { default: chosen, models } = catalogueOf(GOOD);
    expect(chosen).toBe('a-1');
    expect(models.map(({ id }) => id)).toEqual(['script', 'a-1', 'b-1']);
    expect(models[0]).toEqual(SCRIPT);
  });

  it('leaves a `script` that is there as it is described', () => {
    const described = GOOD.replace('a-1\n    display_name: A', 'script\n    display_name: Ours').replace(
      'default: a-1',
      '',
    );
    expect(catalogueOf(described).models.map((model) => model.display_name)).toEqual(['Ours', 'B']);
  });

  it('takes `script` for the default where none is named', () => {
    expect(catalogueOf('models: []')).toEqual({ default: 'script', models: [SCRIPT] });
  });

  it.each<[string, string, string, number | undefined, RegExp]>([
    ['an unknown provider', 'OPENAI', 'OPENIA', 10, /^models\[1\]\.provider: .*GOOGLE/],
    ['a misspelt key', 'vision_supported: true', 'vision_suported: true', 7, /vision_suported/],
    ['a missing key', '    vision_supported: true\n', '', 3, /^models\[0\]\.vision_supported: /],
    ['no harness', '[claude]', '[]', 6, /^models\[0\]\.harness: /],
    [
      'a negative price',
      'harness: [codex]',
      'harness: [codex]\n    cost: { input_usd_per_million_tokens: -1, output_usd_per_million_tokens: 1 }',
      12,
      /cost\.input_usd/,
    ],
    ['an id that is there twice', 'b-1', 'a-1', 8, /^models\[1\]\.id: is there twice/],
    ['an id with a blank', 'id: b-1', 'id: b 1', 8, /^models\[1\]\.id: must be/],
    ['a default that is no model', 'default: a-1', 'default: z', 1, /^default: must be the id/],
    ['a default that is disabled', 'default: a-1', 'default: b-1', 1, /^default: is a disabled/],
    ['broken YAML', 'harness: [claude]', 'harness: [claude', 7, /./],
    ['an alias of nothing', 'display_name: B', 'display_name: *nothing', undefined, /nothing/],
  ])('refuses %s and says where', (_, from, to, line, message) => {
    expect(GOOD).toContain(from);
    const problem = problemsOf(GOOD.replace(from, to)).find((found) => message.test(found.message));
    expect(problem).toBeDefined();
    expect(problem?.line).toBe(line);
  });

  it.each(['', 'nothing', '[]', 'default: script'])('refuses %j', (yaml) => {
    expect(problemsOf(yaml)).not.toEqual([]);
  });

  it('names everything that is wrong at once', () => {
    expect(problemsOf(GOOD.replace('ANTHROPIC', 'X').replace('OPENAI', 'Y'))).toHaveLength(2);
  });
});

describe('the catalogue that is shipped', () => {
  const shipped = catalogueOf(readFileSync(new URL('../../../config/models.yaml', import.meta.url), 'utf8'));

  it('begins with `script` as the default, described as it is everywhere', () => {
    expect(shipped.default).toBe('script');
    expect(shipped.models[0]).toEqual(SCRIPT);
  });

  it('has models for every harness', () => {
    expect(new Set(shipped.models.flatMap(({ harness }) => harness))).toEqual(
      new Set(['oz', 'claude', 'codex', 'gemini']),
    );
  });
});
