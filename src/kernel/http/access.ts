import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';

/** Metadata key under which a route declares who may call it. A route that declares nothing is refused to everybody. */
export const ACCESS = 'millwright:access';

/** The route needs no API key. */
export const Public = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS, 'public'), ApiSecurity({}));
