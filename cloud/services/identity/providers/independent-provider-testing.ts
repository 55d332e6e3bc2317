import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { clientId, clientSecret } from './testing.ts'

export type Registration = {
  redirectUri: string
  logoutUri: string
  backchannelLogoutUri: string
  /** Sends the requests of the provider to the platform. The default is `fetch`. */
  send?: (url: string, init: object) => Promise<Response>
}

/** The groups of each user. Every name and password is accepted. */
type Groups = Readonly<Record<string, readonly string[]>>

/**
 * Starts `oidc-provider`, an identity provider that is independent of the platform, on a free port. Its client is
 * registered later, when its redirect address is known.
 */
export async function startIndependentProvider(groups: Groups) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: 'r1' }
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const logouts: Promise<Response>[] = []
  const server = createServer((request, response) => handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const claimsOf = (sub: string) => ({ sub, preferred_username: `${sub}@example.com`, groups: groups[sub] ?? [] })

  const register = (registration?: Registration) => {
    const configuration = {
      jwks: { keys: [jwk] },
      clients: registration === undefined ? [] : [clientOf(registration)],
      claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['for tests'] },
      findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => claimsOf(sub) }),
      features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
      fetch: (url: string, init: object) => {
        const sent = (registration?.send ?? fetch)(url, init)
        logouts.push(sent)
        return sent
      },
    }
    handle = new Provider(issuer, configuration as unknown as Configuration).callback()
  }
  register()

  return {
    issuer,
    privateKey,
    claimsOf,
    register,
    /** Returns the statuses with which the platform answered the logout requests. */
    logouts: async () => (await Promise.all(logouts)).map(({ status }) => status),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function clientOf({ redirectUri, logoutUri, backchannelLogoutUri }: Registration) {
  return {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [logoutUri],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    backchannel_logout_uri: backchannelLogoutUri,
    backchannel_logout_session_required: true,
  }
}
