import { type Static, Type } from 'typebox'
import { RoleName } from './authorization.ts'
import { empty, media, type Operation } from './contract.ts'
import { closed, data, describedPattern, linePattern, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'

/** The operations for identity providers (OpenID Connect). They are part of the contract `identity`. */

export const providerLimits = { providers: 20, mappings: 500, scopes: 20, claimValues: 1_000 } as const

const Html = media('text/html; charset=utf-8')
const text = () => Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))

const ClaimName = Type.String({ minLength: 1, maxLength: 256, pattern: linePattern })

const Mapping = closed({
  value: Type.String({ minLength: 1, maxLength: 512, description: 'A value of the groups claim' }),
  role: RoleName,
  accessGroup: Type.Optional(Type.Union([Uuid, Type.Null()], { description: 'null or absent for the whole tenant' })),
})

const fields = {
  name: Type.String({
    pattern: describedPattern(
      '^[a-z0-9][a-z0-9-]{0,62}$',
      'must consist of up to 63 lower-case letters, digits and dashes, and start with a letter or digit',
    ),
    description: 'The name in addresses and commands',
    examples: ['entra'],
  }),
  title: Name,
  issuer: Type.String({
    maxLength: 1024,
    format: 'uri',
    description: 'The issuer URL, exactly as the provider writes it',
  }),
  clientId: Type.String({ minLength: 1, maxLength: 256 }),
  scopes: Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$' }), {
    maxItems: providerLimits.scopes,
    uniqueItems: true,
    description: 'Requested scopes in addition to `openid`',
  }),
  nameClaim: ClaimName,
  groupsClaim: ClaimName,
  mappings: Type.Array(Mapping, { maxItems: providerLimits.mappings }),
  mayGrantAdministrator: Type.Boolean({
    description: 'Whether a mapping can name the role administrator or another role with `glb_access_manage`',
  }),
  apiAudience: Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()], {
    description: 'The audience of access tokens of the provider that the API accepts. null: the API accepts none',
  }),
  disabled: Type.Boolean(),
}

export const IdentityProvider = closed({
  id: Uuid,
  ...fields,
  hasClientSecret: Type.Boolean(),
  redirectUri: Type.String({ description: 'The redirect address to register at the provider' }),
  backchannelLogoutUri: Type.String({ description: 'The address for back-channel logout to register at the provider' }),
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type IdentityProvider = Static<typeof IdentityProvider>

const clientSecret = Type.Union([Type.String({ minLength: 1, maxLength: 1024 }), Type.Null()], {
  writeOnly: true,
  format: 'password',
  description: 'null for a public client',
})

const { name, title, issuer, clientId, ...defaulted } = fields
const NewProvider = Type.Object(
  {
    name,
    title,
    issuer,
    clientId,
    clientSecret: Type.Optional(clientSecret),
    ...Type.Partial(closed(defaulted)).properties,
  },
  { additionalProperties: false },
)
const ProviderChange = Type.Object(
  { ...Type.Partial(closed({ title, clientId, clientSecret, ...defaulted })).properties },
  { additionalProperties: false, minProperties: 1 },
)

const byId = closed({ id: Uuid })
const errors = [
  'outbound_not_allowed',
  'provider_unusable',
  'role_not_found',
  'access_group_not_found',
  'would_escalate',
] as const

export const identityProviderOperations = {
  providerSignIn: {
    method: 'POST',
    path: '/oauth/provider',
    atRoot: true,
    summary: 'Continue the sign-in at an identity provider',
    access: 'public',
    headers: ['cookie', 'origin', 'accept-language'],
    query: Type.Object({}, { additionalProperties: Type.Unknown() }),
    bodyType: 'application/x-www-form-urlencoded',
    body: Type.Object({ provider: text(), proof: text() }, { additionalProperties: Type.Unknown() }),
    answers: { 200: Html, 303: empty, 400: Html, 403: Html, 429: Html, 503: Html },
  },
  providerCallback: {
    method: 'GET',
    path: '/oauth/callback/{id}',
    atRoot: true,
    summary: 'Complete the sign-in at an identity provider',
    access: 'public',
    headers: ['cookie', 'accept-language', 'user-agent'],
    params: byId,
    query: Type.Object(
      { code: text(), state: text(), iss: text(), error: text(), error_description: text() },
      { additionalProperties: Type.Unknown() },
    ),
    answers: { 303: empty, 400: Html, 403: Html, 503: Html },
  },
  backchannelLogout: {
    method: 'POST',
    path: '/oauth/backchannel-logout/{id}',
    atRoot: true,
    summary: 'End the sessions of a user who signed out at the identity provider',
    access: 'public',
    params: byId,
    bodyType: 'application/x-www-form-urlencoded',
    body: Type.Object({ logout_token: text() }, { additionalProperties: Type.Unknown() }),
    answers: { 200: empty, 400: closed({ error: Type.String(), error_description: Type.Optional(Type.String()) }) },
  },
  verifyProviderToken: {
    method: 'POST',
    path: '/provider-tokens',
    summary: 'Verify an access token of an identity provider',
    access: 'peer',
    waits: true,
    body: data(closed({ token: Type.String() })),
    answers: {
      200: data(
        Type.Union([
          closed({
            isValid: Type.Literal(true),
            tenantId: Uuid,
            principalId: Uuid,
            grants: Type.Array(closed({ role: RoleName, accessGroupId: Type.Union([Uuid, Type.Null()]) })),
            expiresAt: Type.Integer(),
            authenticatedAt: Type.Optional(Type.Integer()),
            accessVersion: Type.Integer(),
          }),
          closed({ isValid: Type.Literal(false), reason: Type.String() }),
        ]),
      ),
    },
  },
  listIdentityProviders: {
    method: 'GET',
    path: '/identity-providers',
    summary: 'List identity providers by name',
    access: 'glb_access_manage',
    query: closed({ ...pageQuery }),
    answers: { 200: page(IdentityProvider) },
  },
  createIdentityProvider: {
    method: 'POST',
    path: '/identity-providers',
    summary: 'Add an identity provider (OpenID Connect)',
    description: 'The host of the issuer must be in the setting `MILLWRIGHT_OUTBOUND_ALLOW` of the installation.',
    access: 'glb_access_manage',
    stepUp: 'access',
    body: data(NewProvider),
    waits: true,
    answers: { 201: data(IdentityProvider) },
    errors: ['already_exists', 'conflict', ...errors],
  },
  readIdentityProvider: {
    method: 'GET',
    path: '/identity-providers/{id}',
    summary: 'Read an identity provider',
    access: 'glb_access_manage',
    params: byId,
    tagged: true,
    answers: { 200: data(IdentityProvider) },
    errors: ['not_found'],
  },
  updateIdentityProvider: {
    method: 'PATCH',
    path: '/identity-providers/{id}',
    summary: 'Change an identity provider; a disabled provider ends the sessions of its users',
    access: 'glb_access_manage',
    stepUp: 'access',
    params: byId,
    headers: ['if-match'],
    body: data(ProviderChange),
    waits: true,
    answers: { 200: data(IdentityProvider) },
    errors: ['not_found', 'already_exists', 'precondition_failed', ...errors],
  },
  deleteIdentityProvider: {
    method: 'DELETE',
    path: '/identity-providers/{id}',
    summary: 'Delete an identity provider, the sessions of its users and the grants from its claims',
    access: 'glb_access_manage',
    stepUp: 'access',
    params: byId,
    headers: ['if-match'],
    answers: { 204: empty },
    errors: ['not_found', 'precondition_failed', 'would_escalate'],
  },
  checkIdentityProvider: {
    method: 'POST',
    path: '/identity-providers/{id}/check',
    summary: 'Connect to an identity provider and check its discovery document and keys',
    access: 'glb_access_manage',
    params: byId,
    waits: true,
    readOnly: true,
    answers: {
      200: data(
        closed({
          isUsable: Type.Boolean(),
          problems: Type.Array(Type.String(), { description: 'What is wrong and what to do' }),
          endpoints: Type.Record(Type.String(), Type.String()),
        }),
      ),
    },
    errors: ['not_found'],
  },
} as const satisfies Record<string, Operation>
