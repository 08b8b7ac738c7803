import { ApiProperty } from '@nestjs/swagger';
import type { Principal } from '../application/principal-directory.js';

/** A person, or an agent that acts on its own account. */
export class PrincipalResponse implements Principal {
  /**
   * What it is.
   * @example "user"
   */
  @ApiProperty({ enum: ['user', 'service_account'] })
  type: 'user' | 'service_account';

  /**
   * Its id.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  uid: string;

  /**
   * Its name.
   * @example "Ada Lovelace"
   */
  display_name: string;

  /**
   * A person's e-mail address.
   * @example "ada@example.com"
   */
  email?: string;
}

/** Who owns a resource: a team, or one user. */
export class ScopeResponse {
  /**
   * What owns it.
   * @example "Team"
   */
  @ApiProperty({ enum: ['User', 'Team'] })
  type: 'User' | 'Team';

  /**
   * The team's or the user's id.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  uid?: string;
}
