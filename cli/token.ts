import { client, overHttp } from '@millwright/api/client.ts'
import { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'

type Credentials = { baseUrl: string; clientId: string; clientSecret: string }

/** Renewed before it ends. */
const beforeEndMs = 30_000

/** A token of a program, asked for when there is none that will do. */
export function tokens({ baseUrl, clientId, clientSecret }: Credentials): () => Promise<string> {
  const api = client(identity, overHttp({ baseUrl }))
  let held: { token: string; until: number } | undefined
  return async () => {
    if (held !== undefined && performance.now() < held.until) return held.token
    const answer = await api.token({
      body: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
      headers: {},
    })
    if (!('access_token' in answer)) throw new Problem('unauthenticated', 'The platform gave no token')
    held = { token: answer.access_token, until: performance.now() + answer.expires_in * 1000 - beforeEndMs }
    return held.token
  }
}
