import { Injectable } from '@nestjs/common';
import { Models } from '../../catalog/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { type AgentConfig, BUILT_IN_HARNESS } from '../domain/agent-config.js';

/** The model and the harness of a run: the system's defaults for them, and whether they go together. */
@Injectable()
export class ModelChoice {
  constructor(private readonly models: Models) {}

  /** The system's own defaults: the built-in harness, and for it the catalogue's default model. */
  withDefaults(config: AgentConfig): AgentConfig & Required<Pick<AgentConfig, 'harness'>> {
    const harness = config.harness ?? { type: BUILT_IN_HARNESS };
    const isBuiltIn = (harness.type ?? BUILT_IN_HARNESS) === BUILT_IN_HARNESS;
    const modelId =
      config.model_id ?? harness.model_id ?? (isBuiltIn ? this.models.defaultModelId : undefined);
    return { ...config, harness, ...(modelId === undefined ? {} : { model_id: modelId }) };
  }

  /**
   * @param path of the configuration in what was asked for, such as `config.`
   * @throws Problem 400 naming the field of a model that is unknown or disabled, or that the harness cannot run
   */
  check(config: AgentConfig, path = ''): void {
    const field = `${path}${config.harness?.model_id === undefined ? 'model_id' : 'harness.model_id'}`;
    const model = config.harness?.model_id ?? config.model_id;
    const harness = config.harness?.type ?? BUILT_IN_HARNESS;
    if (model === undefined) return;
    const check = this.models.check(model);
    switch (check.outcome) {
      case 'ok':
        if (check.harnesses.includes(harness)) return;
        throw invalid(field, `names a model that the harness ${harness} cannot run: ${model}`);
      case 'unknown':
        throw invalid(field, `must be one of the models of GET /v1/agent/models, not ${model}`);
      case 'disabled':
        throw invalid(field, `names a model that is disabled (${check.reason}): ${model}`);
    }
  }
}

const invalid = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
