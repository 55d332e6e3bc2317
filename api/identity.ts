import { type Static, Type } from 'typebox'
import { RoleName } from './authorization.ts'
import { contract, empty, media } from './contract.ts'
import { closed, data, describedPattern, linePattern, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { identityProviderOperations } from './identity-providers.ts'
import { GatewayKey } from './onboarding.ts'
import { signInSecurityOperations } from './sign-in-security.ts'

/** The name of a user in its tenant. A user signs in as `name@tenant`, or as `name` in the tenant `default`. */
export const SignInName = Type.String({
  pattern: '^[a-z0-9][a-z0-9._-]{0,62}$',
  description: 'Lower-case letters, digits, dot, dash, underscore',
  examples: ['jane.doe'],
})

/**
 * A password. The schema contains only the upper limit, because a short or common password is refused with `weak_password`
 * and advice.
 */
export const Password = Type.String({
  minLength: 1,
  maxLength: 256,
  writeOnly: true,
  format: 'password',
  description: 'At least 12 characters. Length is more important than special characters',
})

/** A display name of one line. */
const DisplayName = Type.String({ maxLength: 256, pattern: linePattern })

export const User = closed({
  id: Uuid,
  name: Type.String({ description: 'The sign-in name of a local account, or the name at the identity provider' }),
  displayName: DisplayName,
  disabled: Type.Boolean(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
  lastSignInTimestamp: Type.Union([Timestamp, Type.Null()]),
  provider: Type.Union([Name, Type.Null()], {
    description: 'The title of the identity provider with which the user signs in. null for a local account',
  }),
  hasSecondFactor: Type.Boolean(),
})
export type User = Static<typeof User>

export const ServerUser = closed({
  id: Uuid,
  name: Name,
  clientId: Type.String(),
  disabled: Type.Boolean(),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
  secretCreatedTimestamp: Timestamp,
})
export type ServerUser = Static<typeof ServerUser>

/** A server user with its secret. Only this response contains the secret, because the platform stores only its hash. */
export const ServerUserWithSecret = closed({
  ...ServerUser.properties,
  clientSecret: Type.String(),
  tokenUrl: Type.String({ description: 'The token endpoint' }),
})

const TokenAnswer = closed({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer(),
  scope: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String()),
})

/** The error format of RFC 6749 §5.2, which OAuth clients expect instead of problem documents. */
const TokenError = closed({ error: Type.String(), error_description: Type.Optional(Type.String()) })

/** The response of token introspection (RFC 7662 §2.2). */
const Introspection = closed({
  active: Type.Boolean(),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  username: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String()),
  exp: Type.Optional(Type.Integer()),
  iat: Type.Optional(Type.Integer()),
  sub: Type.Optional(Uuid),
  aud: Type.Optional(Type.String()),
  iss: Type.Optional(Type.String()),
  jti: Type.Optional(Type.String()),
  tenant: Type.Optional(Uuid),
  kind: Type.Optional(Type.String()),
  roles: Type.Optional(Type.Array(Type.String())),
  auth_time: Type.Optional(Type.Integer()),
  amr: Type.Optional(Type.Array(Type.String())),
})

/** Returns the schema of a form. Unknown parameters are allowed, because RFC 6749 requires that they are ignored. */
function form<Properties extends Record<string, ReturnType<typeof Type.Optional>>>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: Type.Unknown() })
}

/**
 * Returns the schema of a parameter. It accepts a list, because a repeated parameter arrives as a list. The handler
 * refuses the list with the error that RFC 6749 defines.
 */
const text = () => Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))

const AuthorizationQuery = form({
  response_type: text(),
  client_id: text(),
  redirect_uri: text(),
  scope: text(),
  state: text(),
  code_challenge: text(),
  code_challenge_method: text(),
  prompt: text(),
  max_age: text(),
  tenant: text(),
})

const byId = closed({ id: Uuid })

/** Limits for the preferences of a user: the number of names, and the bytes of one request. */
export const preferenceLimits = { names: 100, bytes: 32 * 1024 } as const

const PreferenceName = Type.String({
  pattern: describedPattern(
    '^[a-z][a-z0-9.-]{0,63}$',
    'must start with a lower-case letter, and consist of up to 64 lower-case letters, digits, dots and dashes',
  ),
  examples: ['assets.columns'],
})

export const identity = contract({
  name: 'identity',
  title: 'Identity and access management',
  description: 'Users, service accounts (server users), sign-in and access tokens (OAuth 2).',
  version: '1.0.0',
  prefix: '/iam/v1',
  operations: {
    ...signInSecurityOperations,
    ...identityProviderOperations,
    token: {
      method: 'POST',
      path: '/oauth/token',
      atRoot: true,
      summary: 'Get an access token',
      description:
        'Grants: `client_credentials` for service accounts (form fields or HTTP Basic) and gateways (a signed `client_assertion`, RFC 7523), `authorization_code` with PKCE and `refresh_token` for users. `scope` limits the token to the named roles. Errors follow RFC 6749 §5.2.',
      access: 'public',
      readOnly: true,
      headers: ['authorization'],
      bodyType: 'application/x-www-form-urlencoded',
      body: form({
        grant_type: text(),
        client_id: text(),
        client_secret: text(),
        client_assertion_type: text(),
        client_assertion: text(),
        scope: text(),
        code: text(),
        code_verifier: text(),
        redirect_uri: text(),
        refresh_token: text(),
      }),
      answers: { 200: TokenAnswer, 400: TokenError, 401: TokenError, 429: TokenError },
    },
    revokeToken: {
      method: 'POST',
      path: '/oauth/revoke',
      atRoot: true,
      summary: 'Revoke an access token or a refresh token (RFC 7009)',
      description:
        'Service accounts and gateways authenticate as at the token endpoint. The console and the command line send their `client_id`. Revoking a refresh token revokes all tokens of its sign-in. Revoking an access token revokes only that token, in every process within one second. An invalid token returns 200.',
      access: 'public',
      headers: ['authorization'],
      bodyType: 'application/x-www-form-urlencoded',
      body: form({
        token: text(),
        token_type_hint: text(),
        client_id: text(),
        client_secret: text(),
        client_assertion_type: text(),
        client_assertion: text(),
      }),
      answers: { 200: empty, 400: TokenError, 401: TokenError, 429: TokenError },
    },
    introspectToken: {
      method: 'POST',
      path: '/oauth/introspect',
      atRoot: true,
      summary: 'Check a token (RFC 7662)',
      description:
        'A service account can check its own access tokens, and with the permission `glb_access_manage` in the whole tenant every token of the tenant. For all other tokens, and for expired, revoked or unknown tokens, the response is `active: false`.',
      access: 'public',
      readOnly: true,
      headers: ['authorization'],
      bodyType: 'application/x-www-form-urlencoded',
      body: form({ token: text(), token_type_hint: text(), client_id: text(), client_secret: text() }),
      answers: { 200: Introspection, 400: TokenError, 401: TokenError, 403: TokenError, 429: TokenError },
    },
    authorize: {
      method: 'GET',
      path: '/oauth/authorize',
      atRoot: true,
      summary: 'Sign in with a browser: authorization code with PKCE (S256)',
      access: 'public',
      headers: ['cookie', 'accept-language'],
      query: AuthorizationQuery,
      answers: { 200: media('text/html; charset=utf-8'), 302: empty, 400: media('text/html; charset=utf-8') },
    },
    signIn: {
      method: 'POST',
      path: '/oauth/authorize',
      atRoot: true,
      summary: 'Submit the sign-in form',
      access: 'public',
      headers: ['cookie', 'origin', 'accept-language', 'user-agent'],
      query: AuthorizationQuery,
      bodyType: 'application/x-www-form-urlencoded',
      body: form({ name: text(), password: text(), proof: text() }),
      answers: {
        200: media('text/html; charset=utf-8'),
        303: empty,
        400: media('text/html; charset=utf-8'),
        401: media('text/html; charset=utf-8'),
        403: media('text/html; charset=utf-8'),
        429: media('text/html; charset=utf-8'),
        503: media('text/html; charset=utf-8'),
      },
    },
    signOut: {
      method: 'POST',
      path: '/oauth/logout',
      atRoot: true,
      summary: 'Sign out: revoke the session of this browser and its tokens',
      access: 'public',
      headers: ['cookie', 'origin'],
      bodyType: 'application/x-www-form-urlencoded',
      description:
        'The only accepted `post_logout_redirect_uri` is the console. If the user signed in with an identity provider, open `endSessionUrl` in the browser to sign out there too.',
      body: form({ refresh_token: text(), post_logout_redirect_uri: text() }),
      answers: { 200: closed({ endSessionUrl: Type.String() }), 204: empty, 303: empty },
    },
    userInfo: {
      method: 'GET',
      path: '/oauth/userinfo',
      atRoot: true,
      summary: 'Read the account of the token',
      access: 'signed-in',
      answers: {
        200: closed({
          sub: Uuid,
          name: Type.String(),
          preferred_username: Type.String(),
          tenant: Uuid,
          tenant_name: Type.String(),
          kind: Type.String(),
          roles: Type.Array(RoleName),
        }),
      },
    },
    keys: {
      method: 'GET',
      path: '/.well-known/jwks.json',
      atRoot: true,
      summary: 'Read the public keys of access tokens',
      access: 'public',
      answers: { 200: closed({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }) },
    },
    metadata: {
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      atRoot: true,
      summary: 'Read the authorization server metadata (RFC 8414)',
      access: 'public',
      answers: { 200: Type.Record(Type.String(), Type.Unknown()) },
    },
    listUsers: {
      method: 'GET',
      path: '/users',
      summary: 'List users by name',
      access: 'glb_access_manage',
      sensitive: true,
      query: closed({ name: Type.Optional(Name), ...pageQuery }),
      answers: { 200: page(User) },
    },
    createUser: {
      method: 'POST',
      path: '/users',
      summary: 'Create a user without permissions; grant a role afterwards',
      access: 'glb_access_manage',
      stepUp: 'access',
      body: data(closed({ name: SignInName, displayName: Type.Optional(DisplayName), password: Password })),
      answers: { 201: data(User) },
      errors: ['already_exists', 'weak_password'],
    },
    readUser: {
      method: 'GET',
      path: '/users/{id}',
      summary: 'Read a user',
      access: 'glb_access_manage',
      sensitive: true,
      params: byId,
      tagged: true,
      answers: { 200: data(User) },
      errors: ['not_found'],
    },
    updateUser: {
      method: 'PATCH',
      path: '/users/{id}',
      summary: 'Rename, disable or enable a user, or set a new password',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      body: data(
        Type.Object(
          {
            displayName: Type.Optional(DisplayName),
            disabled: Type.Optional(Type.Boolean()),
            password: Type.Optional(Password),
          },
          { additionalProperties: false, minProperties: 1 },
        ),
      ),
      answers: { 200: data(User) },
      errors: ['not_found', 'last_administrator', 'weak_password', 'precondition_failed', 'would_escalate', 'conflict'],
    },
    deleteUser: {
      method: 'DELETE',
      path: '/users/{id}',
      summary: 'Delete a user and its grants',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'last_administrator', 'precondition_failed', 'would_escalate'],
    },
    changePassword: {
      method: 'POST',
      path: '/password',
      summary: 'Change your own password; revokes your other sessions',
      access: 'signed-in',
      body: data(closed({ currentPassword: Type.String({ maxLength: 256, writeOnly: true }), newPassword: Password })),
      answers: { 204: empty },
      errors: ['wrong_password', 'weak_password', 'conflict', 'step_up_required', 'too_many_requests'],
    },
    readPreferences: {
      method: 'GET',
      path: '/preferences',
      summary: 'Read your preferences',
      description: 'For user interfaces: columns, saved views, language. Preferences are private to the user.',
      access: 'signed-in',
      answers: { 200: data(Type.Record(Type.String(), Type.Unknown())) },
    },
    putPreference: {
      method: 'PUT',
      path: '/preferences/{name}',
      summary: 'Store a preference under a name; null deletes it',
      access: 'signed-in',
      params: closed({ name: PreferenceName }),
      bodyBytes: preferenceLimits.bytes,
      body: data(closed({ value: Type.Unknown() })),
      answers: { 204: empty },
      errors: ['conflict'],
    },
    listServerUsers: {
      method: 'GET',
      path: '/server-users',
      summary: 'List service accounts by name',
      access: 'glb_access_manage',
      sensitive: true,
      query: closed({ name: Type.Optional(Name), ...pageQuery }),
      answers: { 200: page(ServerUser) },
    },
    createServerUser: {
      method: 'POST',
      path: '/server-users',
      summary: 'Create a service account; only this response contains its secret',
      access: 'glb_access_manage',
      stepUp: 'access',
      body: data(closed({ name: Name })),
      answers: { 201: data(ServerUserWithSecret) },
      errors: ['already_exists'],
      answersSecret: true,
    },
    readServerUser: {
      method: 'GET',
      path: '/server-users/{id}',
      summary: 'Read a service account',
      access: 'glb_access_manage',
      sensitive: true,
      params: byId,
      tagged: true,
      answers: { 200: data(ServerUser) },
      errors: ['not_found'],
    },
    updateServerUser: {
      method: 'PATCH',
      path: '/server-users/{id}',
      summary: 'Rename, disable or enable a service account; disabling takes effect within one second in every process',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      body: data(
        Type.Object(
          { name: Type.Optional(Name), disabled: Type.Optional(Type.Boolean()) },
          { additionalProperties: false, minProperties: 1 },
        ),
      ),
      answers: { 200: data(ServerUser) },
      errors: ['not_found', 'already_exists', 'precondition_failed', 'would_escalate'],
    },
    rotateServerUserSecret: {
      method: 'POST',
      path: '/server-users/{id}/secret',
      summary: 'Create a new secret; the old secret becomes invalid immediately',
      description:
        'Access tokens of the old secret stay valid until they expire. With `revokeTokens`, every process refuses them within one second.',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      body: Type.Optional(data(closed({ revokeTokens: Type.Optional(Type.Boolean()) }))),
      answers: { 200: data(ServerUserWithSecret) },
      errors: ['not_found', 'would_escalate'],
      answersSecret: true,
    },
    deleteServerUser: {
      method: 'DELETE',
      path: '/server-users/{id}',
      summary: 'Delete a service account and its grants',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'precondition_failed', 'would_escalate'],
    },
    putGateway: {
      method: 'PUT',
      path: '/gateways/{id}',
      summary: 'Register a gateway and its public key',
      access: 'peer',
      params: byId,
      body: data(closed({ name: Type.String(), publicKey: GatewayKey })),
      answers: { 200: data(closed({ clientId: Type.String(), thumbprint: Type.String() })) },
    },
    updateGateway: {
      method: 'PATCH',
      path: '/gateways/{id}',
      summary: 'Enable or disable a gateway',
      access: 'peer',
      params: byId,
      body: data(closed({ disabled: Type.Boolean() })),
      answers: { 204: empty },
    },
    deleteGateway: {
      method: 'DELETE',
      path: '/gateways/{id}',
      summary: 'Delete a gateway',
      access: 'peer',
      params: byId,
      answers: { 204: empty },
    },
  },
})
