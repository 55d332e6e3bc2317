import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { platformOrigin } from './address.ts'
import { authorityOfHome, readAuthority, trustAuthority } from './authority.ts'
import { type Profile, Profiles } from './profiles.ts'
import type { ClientConfiguration } from './settings.ts'
import { byClientSecret, endSession, requestToken, TokenRefusal, type Tokens } from './token-endpoint.ts'

/** `Bearer` contains the address of the platform that a command uses, and the source of its access tokens. */
export type Bearer = {
  url: string
  /** The origin of the credentials, for messages: a profile, an environment variable or a file. */
  from: string
  token(options?: { fresh: boolean }): Promise<string>
  /** Replaces the tokens after a new sign-in of the same user, and ends the old session. Only for profiles of users. */
  replaceTokens?(tokens: Tokens): Promise<void>
}

export type BearerOptions = { url?: string | undefined; profile?: string | undefined }

/** How long before its expiry a token is renewed. */
const renewBeforeMs = 30_000

/**
 * Selects the credentials of a command. The first available source is used: environment variables, the named profile,
 * the current profile, or the first-run file on the machine of the platform.
 */
export async function bearerFor(options: BearerOptions, configuration: ClientConfiguration): Promise<Bearer> {
  const address = options.url ?? configuration.url
  const url = address === undefined ? undefined : platformOrigin(address)
  const { token, clientId, clientSecret, authority } = configuration
  if (authority !== undefined) trustAuthority(await readAuthority(authority))
  if (options.profile === undefined && (token !== undefined || clientId !== undefined)) {
    if (url === undefined) throw usageError('MILLWRIGHT_TOKEN and MILLWRIGHT_CLIENT_ID need MILLWRIGHT_URL.')
    if (token !== undefined) return { url, from: 'MILLWRIGHT_TOKEN', token: async () => token }
    if (clientSecret === undefined) throw usageError('MILLWRIGHT_CLIENT_ID needs MILLWRIGHT_CLIENT_SECRET.')
    return serviceAccountBearer({ url, from: 'MILLWRIGHT_CLIENT_ID', clientId: clientId ?? '', clientSecret })
  }
  const profiles = new Profiles(configuration)
  const named = options.profile ?? configuration.profile
  if (named !== undefined) return profileBearer(profiles, named, url)
  return (await fromStoredProfile(profiles, url)) ?? (await fromFirstRun(configuration, url)) ?? notSignedIn(url)
}

async function fromStoredProfile(profiles: Profiles, url: string | undefined): Promise<Bearer | undefined> {
  const current = await profiles.current()
  const stored = await profiles.list()
  const matching = stored.filter(({ profile }) => url === undefined || profile.url === url)
  const selected = matching.find(({ name }) => name === current) ?? (matching.length === 1 ? matching[0] : undefined)
  if (selected !== undefined) return profileBearer(profiles, selected.name, url)
  if (matching.length === 0) return undefined
  const names = matching.map(({ name }) => name).join(', ')
  throw usageError(`There are several profiles (${names}).`, 'choose one: millwright profiles use, or --profile')
}

async function profileBearer(profiles: Profiles, name: string, url: string | undefined): Promise<Bearer> {
  const profile = await profiles.find(name)
  if (profile === undefined) {
    throw new CommandError(`Profile "${name}" not found.`, {
      exitCode: exitCodes.denied,
      next: `sign in: millwright login --profile ${name}`,
    })
  }
  // A token is sent only to the platform that issued it.
  if (url !== undefined && url !== profile.url) {
    throw usageError(`The profile ${name} belongs to ${profile.url}, not to ${url}.`, `millwright login ${url}`)
  }
  trustAuthority(profile.authority)
  let current: Profile = profile
  return {
    url: profile.url,
    from: `profile ${name}`,
    async token({ fresh } = { fresh: false }) {
      if (!fresh && isValid(current)) return current.accessToken
      const rejected = fresh ? current.accessToken : undefined
      current = await profiles.withLock(name, () => renew(profiles, { name, rejected }))
      return current.accessToken
    },
    ...(profile.kind === 'program'
      ? {}
      : {
          async replaceTokens(tokens) {
            const old = await profiles.withLock(name, async () => {
              const stored = (await profiles.find(name)) ?? profile
              current = { ...stored, ...tokens }
              await profiles.put(name, current)
              return stored
            })
            if (old.kind === 'person') await endSession(old.url, old.refreshToken)
          },
        }),
  }
}

function isValid({ expires, renewAt = expires }: { expires: number; renewAt?: number }): boolean {
  return Date.now() < Math.min(expires - renewBeforeMs, renewAt)
}

/** Renews the token of a profile, unless another command has already renewed it. */
async function renew(
  profiles: Profiles,
  { name, rejected }: { name: string; rejected: string | undefined },
): Promise<Profile> {
  const profile = await profiles.find(name)
  if (profile === undefined) throw signInAgain(name)
  if (profile.accessToken !== rejected && isValid(profile)) return profile
  const tokens = await requestToken(profile.url, renewalForm(profile)).catch((error: unknown) => {
    throw error instanceof TokenRefusal ? signInAgain(name, error) : error
  })
  const next: Profile = { ...profile, ...tokens }
  await profiles.put(name, next)
  return next
}

function renewalForm(profile: Profile): Record<string, string> {
  if (profile.kind === 'program') return byClientSecret(profile.clientId, profile.clientSecret)
  return { grant_type: 'refresh_token', client_id: 'cli', refresh_token: profile.refreshToken }
}

function signInAgain(name: string, cause?: TokenRefusal): CommandError {
  return new CommandError(`The profile ${name} is no longer signed in.`, {
    exitCode: exitCodes.denied,
    next: `millwright login --profile ${name}`,
    cause,
  })
}

type ServiceAccount = { url: string; from: string; clientId: string; clientSecret: string }

function serviceAccountBearer({ url, from, clientId, clientSecret }: ServiceAccount): Bearer {
  let current: Tokens | undefined
  return {
    url,
    from,
    async token({ fresh } = { fresh: false }) {
      if (fresh || current === undefined || !isValid(current))
        current = await requestToken(url, byClientSecret(clientId, clientSecret))
      return current.accessToken
    },
  }
}

/** Returns the service account in first-run.json, so that commands on the machine of the platform need no sign-in. */
async function fromFirstRun({ home }: ClientConfiguration, url: string | undefined): Promise<Bearer | undefined> {
  const file = join(home, 'first-run.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const access: { baseUrl: string; clientId: string; clientSecret: string } = JSON.parse(text)
  const own = platformOrigin(access.baseUrl)
  if (url !== undefined && url !== own) return undefined
  trustAuthority(await authorityOfHome(home))
  const bearer = serviceAccountBearer({ ...access, url: own, from: file })
  return {
    ...bearer,
    token: (options) =>
      bearer.token(options).catch((error: unknown) => {
        if (!(error instanceof TokenRefusal)) throw error
        throw new CommandError(`The platform rejected the service account in ${file}.`, {
          exitCode: exitCodes.denied,
          next: `sign in: millwright login ${own}`,
          cause: error,
        })
      }),
  }
}

function notSignedIn(url: string | undefined): never {
  throw new CommandError(url === undefined ? 'You are not signed in.' : `You are not signed in at ${url}.`, {
    exitCode: exitCodes.denied,
    next: `millwright login ${url ?? 'https://…'}; on the machine of the platform, run the command in the folder of npm start`,
  })
}
