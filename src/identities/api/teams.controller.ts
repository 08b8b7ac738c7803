import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateTeam } from '../application/create-team.js';
import { CreateUser } from '../application/create-user.js';
import { ListMembers } from '../application/list-members.js';
import { RemoveMember } from '../application/remove-member.js';
import { SetMember } from '../application/set-member.js';
import type { UserCaller } from '../domain/caller.js';
import { CurrentUser, RequirePermission } from './require-permission.js';
import {
  CreateTeamRequest,
  CreateUserRequest,
  CreatedUserResponse,
  ListMembersResponse,
  MemberResponse,
  SetMemberRequest,
  TeamResponse,
  toMemberResponse,
  toTeamResponse,
} from './team.dto.js';

@ApiTags('Teams')
@Controller('v1')
export class TeamsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createUser: CreateUser,
    private readonly createTeam: CreateTeam,
    private readonly listMembers: ListMembers,
    private readonly setMember: SetMember,
    private readonly removeMember: RemoveMember,
  ) {}

  @Post('users')
  @RequirePermission('installation:manage')
  @ApiOperation({ operationId: 'createUser', summary: 'Make a user, with a key to hand over to them' })
  @ApiCreatedResponse({ type: CreatedUserResponse, description: 'The key is shown this once' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse({ description: 'Another user has this e-mail address' })
  async addUser(@Body() request: CreateUserRequest): Promise<CreatedUserResponse> {
    const { display_name, email } = request;
    const result = await this.transactor.run((tx) =>
      this.createUser.execute(tx, { displayName: display_name, email: email ?? undefined }),
    );
    switch (result.outcome) {
      case 'created':
        return {
          uid: result.uid,
          display_name,
          email: email ?? undefined,
          created_at: result.createdAt.toISOString(),
          api_key: result.key,
        };
      case 'email_taken':
        throw new Problem('conflict', { detail: 'Another user has this e-mail address' });
    }
  }

  @Post('teams')
  @RequirePermission('installation:manage')
  @ApiOperation({
    operationId: 'createTeam',
    summary: 'Make a team',
    description: 'It comes with its default agent identity and its first admin.',
  })
  @ApiCreatedResponse({ type: TeamResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  async addTeam(
    @CurrentUser() caller: UserCaller,
    @Body() { name, admin_uid }: CreateTeamRequest,
  ): Promise<TeamResponse> {
    const adminUid = admin_uid ?? caller.uid;
    const team = await this.transactor.run((tx) => this.createTeam.execute(tx, { name, adminUid }));
    if (team === undefined) throw Problem.invalid([{ field: 'admin_uid', message: 'must be a user' }]);
    return toTeamResponse(team);
  }

  @Get('teams/:uid/members')
  @RequirePermission('teams:read')
  @ApiOperation({ operationId: 'listMembers', summary: 'List the members of the team that you act for' })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiOkResponse({ type: ListMembersResponse })
  @ApiNotFoundResponse({ description: 'No such team, or not the one that you act for' })
  async members(
    @CurrentUser() caller: UserCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<ListMembersResponse> {
    return { members: (await this.listMembers.execute(caller, uid)).map(toMemberResponse) };
  }

  @Put('teams/:uid/members/:userUid')
  @RequirePermission('teams:manage')
  @ApiOperation({
    operationId: 'setMember',
    summary: 'Add a user to the team, or change what they are in it',
  })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiParam({ name: 'userUid', format: 'uuid' })
  @ApiOkResponse({ type: MemberResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such user, no such team, or not the one that you act for' })
  @ApiConflictResponse({ description: 'They are the only admin of the team' })
  async putMember(
    @CurrentUser() caller: UserCaller,
    @Param('uid', UuidParam) uid: string,
    @Param('userUid', UuidParam) userUid: string,
    @Body() request: SetMemberRequest,
  ): Promise<MemberResponse> {
    const membership = { role: request.role, permissions: request.permissions ?? [] };
    const result = await this.transactor.run((tx) =>
      this.setMember.execute(tx, caller, uid, userUid, membership),
    );
    switch (result.outcome) {
      case 'set':
        return toMemberResponse(result.member);
      case 'no_such_user':
        throw Problem.notFound('user');
      case 'last_admin':
        throw lastAdmin();
      case 'full':
        throw new Problem('budget_exceeded', { detail: 'The team has as many members as a team can have' });
    }
  }

  @Delete('teams/:uid/members/:userUid')
  @HttpCode(204)
  @RequirePermission('teams:read')
  @ApiOperation({
    operationId: 'removeMember',
    summary: 'Remove a member from the team',
    description:
      'Every member can leave by themselves; to remove others takes the permission `teams:manage`.',
  })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiParam({ name: 'userUid', format: 'uuid' })
  @ApiNoContentResponse({ description: 'They belong to the team no more' })
  @ApiNotFoundResponse({ description: 'No such member, no such team, or not the one that you act for' })
  @ApiConflictResponse({ description: 'They are the only admin of the team' })
  async deleteMember(
    @CurrentUser() caller: UserCaller,
    @Param('uid', UuidParam) uid: string,
    @Param('userUid', UuidParam) userUid: string,
  ): Promise<void> {
    const outcome = await this.transactor.run((tx) => this.removeMember.execute(tx, caller, uid, userUid));
    switch (outcome) {
      case 'removed':
        return;
      case 'not_a_member':
        throw Problem.notFound('member');
      case 'last_admin':
        throw lastAdmin();
      case 'not_allowed':
        throw new Problem('not_authorized', { detail: 'Only an admin of the team removes others' });
    }
  }
}

const lastAdmin = (): Problem =>
  new Problem('conflict', {
    detail: 'They are the only admin of the team: make another member an admin first',
  });
