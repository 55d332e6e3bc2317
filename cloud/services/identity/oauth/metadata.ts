import type { identity } from '@millwright/api/identity.ts'
import { builtInRoles } from '@millwright/api/permission.ts'
import { answer, type Handlers } from '../../../platform/service.ts'
import type { IdentityContext } from '../context.ts'

/**
 * The time for which clients cache the key list. It is shorter than the time between the publication of a key and its
 * first signature. Every cached list therefore contains a key before the key signs tokens.
 */
const keysCachedSeconds = 15
const metadataCachedSeconds = 300

export function metadataHandlers({
  context,
  keys,
}: IdentityContext): Pick<Handlers<typeof identity>, 'keys' | 'metadata'> {
  return {
    async keys() {
      const published = (await keys.published()) as Record<string, unknown>[]
      return answer(200, { keys: published }, { 'cache-control': `public, max-age=${keysCachedSeconds}` })
    },

    async metadata() {
      const { baseUrl } = context.settings
      return answer(200, metadataOf(baseUrl), { 'cache-control': `public, max-age=${metadataCachedSeconds}` })
    },
  }
}

const clientAuthentication = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']

/** Returns the authorization server metadata (RFC 8414). */
function metadataOf(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    end_session_endpoint: `${issuer}/oauth/logout`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: Object.keys(builtInRoles),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
    token_endpoint_auth_methods_supported: clientAuthentication,
    token_endpoint_auth_signing_alg_values_supported: ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    prompt_values_supported: ['login', 'none'],
    service_documentation: `${issuer}/docs`,
  }
}
