import { ApiProperty } from '@nestjs/swagger';
import type { Models } from '../application/models.js';
import {
  DISABLE_REASONS,
  type DisableReason,
  type Model,
  MODEL_PROVIDERS,
  type ModelProvider,
} from '../domain/model.js';

/** What a model costs at its provider. */
export class ModelCostResponse {
  /**
   * US dollars for a million tokens of input.
   * @example 4
   */
  input_usd_per_million_tokens: number;

  /**
   * US dollars for a million tokens of output.
   * @example 20
   */
  output_usd_per_million_tokens: number;
}

/** A model that runs may name. */
export class ModelResponse {
  /**
   * What `model_id` names it by.
   * @example "claude-opus-5-5"
   */
  id: string;

  /**
   * Its name for people.
   * @example "Claude Opus 5.5"
   */
  display_name: string;

  /**
   * Whose model it is; UNKNOWN for the built-in one.
   * @example "ANTHROPIC"
   */
  @ApiProperty({ enum: MODEL_PROVIDERS })
  provider: ModelProvider;

  /**
   * Whether it takes images.
   * @example true
   */
  vision_supported: boolean;

  /**
   * What it is good for.
   * @example "Long-running coding and knowledge work."
   */
  description?: string;

  /**
   * How much it reasons.
   * @example "high"
   */
  reasoning_level?: string;

  /** What it costs; left out where that is not known. */
  cost?: ModelCostResponse;

  /**
   * Why it cannot be used now; left out on a model that can.
   * @example "ADMIN_DISABLED"
   */
  @ApiProperty({ enum: DISABLE_REASONS, required: false })
  disable_reason?: DisableReason;
}

/** The models of this installation. */
export class ListModelsResponse {
  /**
   * The model of a run for which nothing else names one.
   * @example "script"
   */
  default_model_id: string;

  /** All models, those that are disabled too. */
  models: ModelResponse[];
}

export const toListModelsResponse = (models: Models): ListModelsResponse => ({
  default_model_id: models.defaultModelId,
  models: models.all.map(toModelResponse),
});

const toModelResponse = (model: Model): ModelResponse => ({
  id: model.id,
  display_name: model.display_name,
  provider: model.provider,
  vision_supported: model.vision_supported,
  description: model.description,
  reasoning_level: model.reasoning_level,
  cost: model.cost,
  disable_reason: model.disabled,
});
