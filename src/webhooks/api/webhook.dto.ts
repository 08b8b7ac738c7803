import { ApiProperty } from '@nestjs/swagger';
import {
  IsBoolean,
  IsIn,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  MinLength,
  ValidateBy,
  type ValidationArguments,
} from 'class-validator';
import type { WebhookRequest } from '../application/create-webhook.js';
import { deliveryIdHeaderFault } from '../domain/delivery-id-header.js';
import { RESOURCE_NAME, RESOURCE_NAME_LENGTH, RESOURCE_NAME_RULE } from '../domain/resource-name.js';
import { SIGNATURE_SCHEMES, type SignatureScheme } from '../domain/signature-scheme.js';
import { AUTH_MODES, type AuthMode, type Webhook } from '../domain/webhook.js';
import { MAX_SECRET_BYTES } from '../domain/webhook-secret.js';

/** The name of a header that may identify deliveries; the empty string is none. */
const IsDeliveryIdHeader = (): PropertyDecorator => {
  const faultOf = (value: unknown): string | undefined =>
    typeof value === 'string' && value !== '' ? deliveryIdHeaderFault(value) : undefined;
  return ValidateBy({
    name: 'isDeliveryIdHeader',
    validator: {
      validate: (value: unknown) => faultOf(value) === undefined,
      defaultMessage: (context?: ValidationArguments) => faultOf(context?.value) ?? '',
    },
  });
};

/** A webhook to make. */
export class CreateWebhookRequest {
  /**
   * What people know it by, unique in the factory in whatever case, for good: 1 to 100 characters, without `/`, `\` and control
   * characters, no space at either end, no `.` first.
   * @example "github"
   */
  @IsString()
  @Matches(RESOURCE_NAME, { message: RESOURCE_NAME_RULE })
  @MaxLength(RESOURCE_NAME_LENGTH)
  name: string;

  /**
   * How a sender proves itself: by `Authorization: Bearer`, by a token in the URL, or by a signature of each request.
   * @example "token"
   */
  @IsOptional()
  @IsIn(AUTH_MODES)
  @ApiProperty({ enum: AUTH_MODES, default: 'token' })
  auth_mode?: AuthMode;

  /**
   * Whose way of signing; required where the mode is `signature`, else left out.
   * @example "github"
   */
  @IsOptional()
  @IsIn(SIGNATURE_SCHEMES)
  @ApiProperty({ enum: SIGNATURE_SCHEMES })
  signature_scheme?: SignatureScheme;

  /**
   * The secret, for senders that have one; kept as a new secret of the team. Left out, it is generated for bearer and URL tokens and
   * for `standard_webhooks`; other schemes then wait for it (`awaiting_secret`).
   * @example "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SECRET_BYTES)
  @ApiProperty({ writeOnly: true })
  secret?: string;

  /**
   * Name of a secret that the team has already, to take instead.
   * @example "GITHUB_WEBHOOK_SECRET"
   */
  @IsOptional()
  @IsString()
  @MaxLength(128)
  secret_name?: string;

  /**
   * A header that carries the sender's own id of a delivery, so that a repeated one is known.
   * @example "X-Request-Id"
   */
  @IsOptional()
  @IsString()
  @IsDeliveryIdHeader()
  delivery_id_header?: string;

  /**
   * Whether deliveries are taken from the start.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  @ApiProperty({ default: true })
  enabled?: boolean;
}

/** What to change of a webhook; what is left out stays as it is. */
export class ChangeWebhookRequest {
  /**
   * A header that carries the sender's own id of a delivery; null or empty for none.
   * @example "X-Request-Id"
   */
  @IsOptional()
  @IsString()
  @IsDeliveryIdHeader()
  @ApiProperty({ type: String, nullable: true })
  delivery_id_header?: string | null;

  /**
   * Whether deliveries are taken. Enabling takes the present value of the secret that the webhook names.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;
}

/** A webhook's next secret. */
export class RotateWebhookSecretRequest {
  /**
   * The secret; required for schemes whose secrets are not generated here, that is, all but `standard_webhooks`. Left out, it is generated.
   * @example "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SECRET_BYTES)
  @ApiProperty({ writeOnly: true })
  secret?: string;
}

/** A webhook's first secret, as its provider has issued it for the ingress URL. */
export class SupplyWebhookSecretRequest {
  /**
   * The secret.
   * @example "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
   */
  @IsString()
  @MinLength(1, { message: 'must not be empty' })
  @MaxLength(MAX_SECRET_BYTES)
  @ApiProperty({ writeOnly: true })
  secret: string;
}

/** A webhook, without its secret. */
export class WebhookResponse {
  /**
   * The webhook.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  uid: string;

  /**
   * Its factory.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  factory_uid: string;

  /**
   * What people know it by.
   * @example "github"
   */
  name: string;

  /**
   * How a sender proves itself.
   * @example "signature"
   */
  @ApiProperty({ enum: AUTH_MODES })
  auth_mode: AuthMode;

  /**
   * Whose way of signing; where the mode is `signature`.
   * @example "github"
   */
  @ApiProperty({ enum: SIGNATURE_SCHEMES })
  signature_scheme?: SignatureScheme;

  /**
   * The team's secret that the webhook takes its copy from when it is made, enabled or rotated.
   * @example "WEBHOOK_GITHUB_7QX2"
   */
  secret_name: string;

  /**
   * The header that carries the sender's own id of a delivery.
   * @example "X-Request-Id"
   */
  delivery_id_header?: string;

  /**
   * Whether deliveries are taken; senders get 404 while they are not.
   * @example true
   */
  enabled: boolean;

  /**
   * Whether it waits for the secret that its provider issues for the ingress URL.
   * @example false
   */
  awaiting_secret: boolean;

  /**
   * Where to deliver. `{token}` stands for a URL token, which is shown once.
   * @example "https://millwright.example/webhooks/w/019c3f0e-0000-7000-8000-000000000001"
   */
  ingress_url: string;

  /**
   * When it was made.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When it was last changed.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  updated_at: string;
}

/** A webhook with its secret, and with the token in its ingress URL: this once. */
export class WebhookWithSecretResponse extends WebhookResponse {
  /**
   * The secret. Absent where the webhook took one that the team has already, or waits for one.
   * @example "mwhs_Zm9vYmFyZXhhbXBsZWV4YW1wbGVleGFtcGxlZXhhbXA"
   */
  secret?: string;
}

/** All webhooks of a factory. */
export class ListWebhooksResponse {
  /** The webhooks by name. */
  webhooks: WebhookResponse[];
}

/** @param baseUrl where senders reach the ingress, without a trailing slash */
export const toWebhookResponse = (baseUrl: string, webhook: Webhook, token = '{token}'): WebhookResponse => ({
  uid: webhook.uid,
  factory_uid: webhook.factoryUid,
  name: webhook.name,
  auth_mode: webhook.authMode,
  signature_scheme: webhook.signatureScheme ?? undefined,
  secret_name: webhook.secretName,
  delivery_id_header: webhook.deliveryIdHeader ?? undefined,
  enabled: webhook.enabled,
  awaiting_secret: webhook.awaitingSecret,
  ingress_url: `${baseUrl}/webhooks/w/${webhook.uid}${webhook.authMode === 'url_token' ? `/${token}` : ''}`,
  created_at: webhook.createdAt.toISOString(),
  updated_at: webhook.updatedAt.toISOString(),
});

/** @param secret to show, if any */
export const toWebhookWithSecretResponse = (
  baseUrl: string,
  webhook: Webhook,
  secret: string | undefined,
): WebhookWithSecretResponse => Object.assign(toWebhookResponse(baseUrl, webhook, secret), { secret });

/** What is left blank is left out. */
export const toWebhookRequest = (request: CreateWebhookRequest): WebhookRequest => ({
  name: request.name,
  authMode: request.auth_mode ?? 'token',
  signatureScheme: request.signature_scheme ?? undefined,
  secret: request.secret || undefined,
  secretName: request.secret_name || undefined,
  deliveryIdHeader: request.delivery_id_header || undefined,
  enabled: request.enabled ?? true,
});

/** Undefined leaves, null clears. */
export const toWebhookChange = ({ delivery_id_header, enabled }: ChangeWebhookRequest) => ({
  deliveryIdHeader: delivery_id_header === undefined ? undefined : delivery_id_header || null,
  enabled: enabled ?? undefined,
});
