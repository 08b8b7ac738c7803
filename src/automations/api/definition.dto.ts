import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { IsRecordOf } from '../../kernel/http/is-record-of.js';
import type { DefinitionError } from '../domain/definition.js';
import type { DefinitionStep } from '../domain/definition-plan.js';

const EXAMPLE = { 'factory.yaml': 'name: default\n', 'webhooks/alerts.yaml': 'secretName: ALERTS\n' };

/** The files that define a factory. */
export class DefinitionResponse {
  /**
   * The text of every file by its path.
   * @example { "factory.yaml": "name: default\n" }
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: EXAMPLE })
  files: Record<string, string>;
}

/** A definition to apply. */
export class ApplyDefinitionRequest {
  /** The text of every file by its path: all files, since what is not there is deleted. */
  @IsRecordOf('string')
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: EXAMPLE })
  files: Record<string, string>;

  /**
   * Whether to say only what would change.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  dry_run?: boolean;
}

/** One change. */
export class DefinitionStepResponse {
  /**
   * What is done.
   * @example "create"
   */
  @ApiProperty({ enum: ['create', 'update', 'delete', 'disable'] })
  action: DefinitionStep['action'];

  /**
   * To what.
   * @example "webhook"
   */
  @ApiProperty({ enum: ['factory', 'agent', 'webhook', 'automation', 'scorer'] })
  kind: DefinitionStep['kind'];

  /**
   * Its name.
   * @example "alerts"
   */
  name: string;
}

/** Something in a file that may be a mistake. */
export class DefinitionWarningResponse {
  /**
   * The file.
   * @example "automations/triage/automation.md"
   */
  file: string;

  /**
   * The line in it, counted from 1.
   * @example 7
   */
  line: number;

  /**
   * The field.
   * @example "triggers.0.filter.webhook_ids.0"
   */
  field: string;

  /**
   * What is odd about it.
   * @example "names the webhook github, which was deleted"
   */
  message: string;
}

/** What was, or would be, changed. */
export class ApplyDefinitionResponse {
  /**
   * Whether it was done: false for a dry run.
   * @example true
   */
  applied: boolean;

  /** The changes; empty when the factory is what the files say. */
  plan: DefinitionStepResponse[];

  /** What may be a mistake; absent where there is nothing. */
  @ApiProperty({ type: [DefinitionWarningResponse], required: false })
  warnings?: DefinitionWarningResponse[];
}

export const toApplyDefinitionResponse = (
  applied: boolean,
  { plan, warnings }: { plan: DefinitionStep[]; warnings: DefinitionError[] },
): ApplyDefinitionResponse => ({
  applied,
  plan: plan.map(({ action, kind, name }) => ({ action, kind, name })),
  warnings:
    warnings.length === 0
      ? undefined
      : warnings.map(({ file, line, field, message }) => ({ file, line, field, message })),
});
