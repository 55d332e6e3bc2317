import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { platformOrigin } from './address.ts'
import { type Profile, Profiles } from './profiles.ts'
import type { ClientConfiguration } from './settings.ts'
import { askForToken, byClientSecret, TokenRefused, type Tokens } from './token-endpoint.ts'

/** Where to go and as whom: a token for each call, a fresh one when the last was refused. */
export type Bearer = {
  url: string
  /** For people: which profile, or what else it was. */
  from: string
  token(options?: { fresh: boolean }): Promise<string>
}

export type Wanted = { url?: string | undefined; profile?: string | undefined }

/** Renewed before it ends. */
const beforeEndMs = 30_000

/** Who the command is: told by the environment, by a profile, or by the platform that runs on this machine. */
export async function bearerFor(wanted: Wanted, configuration: ClientConfiguration): Promise<Bearer> {
  const given = wanted.url ?? configuration.url
  const url = given === undefined ? undefined : platformOrigin(given)
  const { token, clientId, clientSecret } = configuration
  if (wanted.profile === undefined && (token !== undefined || clientId !== undefined)) {
    if (url === undefined) throw usageError('MILLWRIGHT_TOKEN and MILLWRIGHT_CLIENT_ID need MILLWRIGHT_URL.')
    if (token !== undefined) return { url, from: 'MILLWRIGHT_TOKEN', token: async () => token }
    if (clientSecret === undefined) throw usageError('MILLWRIGHT_CLIENT_ID needs MILLWRIGHT_CLIENT_SECRET.')
    return asProgram({ url, from: 'MILLWRIGHT_CLIENT_ID', clientId: clientId ?? '', clientSecret })
  }
  const profiles = new Profiles(configuration)
  const named = wanted.profile ?? configuration.profile
  if (named !== undefined) return asProfile(profiles, named, url)
  return (await fromKnownProfile(profiles, url)) ?? (await fromFirstRun(configuration, url)) ?? refuseUnknown(url)
}

async function fromKnownProfile(profiles: Profiles, url: string | undefined): Promise<Bearer | undefined> {
  const current = await profiles.current()
  const known = await profiles.list()
  const fitting = known.filter(({ profile }) => url === undefined || profile.url === url)
  const chosen = fitting.find(({ name }) => name === current) ?? (fitting.length === 1 ? fitting[0] : undefined)
  if (chosen !== undefined) return asProfile(profiles, chosen.name, url)
  if (fitting.length === 0) return undefined
  const names = fitting.map(({ name }) => name).join(', ')
  throw usageError(`There are several profiles (${names}).`, 'choose one: millwright profiles use, or --profile')
}

async function asProfile(profiles: Profiles, name: string, url: string | undefined): Promise<Bearer> {
  const profile = await profiles.find(name)
  if (profile === undefined) {
    throw new CommandError(`There is no profile ${name}.`, {
      exitCode: exitCodes.denied,
      next: `sign in: millwright login --profile ${name}`,
    })
  }
  // A token is shown to nobody but who gave it.
  if (url !== undefined && url !== profile.url) {
    throw usageError(`The profile ${name} belongs to ${profile.url}, not to ${url}.`, `millwright login ${url}`)
  }
  let held: Profile = profile
  return {
    url: profile.url,
    from: `profile ${name}`,
    async token({ fresh } = { fresh: false }) {
      if (!fresh && isGood(held)) return held.accessToken
      const refused = fresh ? held.accessToken : undefined
      held = await profiles.alone(name, () => renewed(profiles, { name, refused }))
      return held.accessToken
    },
  }
}

function isGood({ expires }: { expires: number }): boolean {
  return Date.now() < expires - beforeEndMs
}

/** Another command may have renewed it in the meantime. */
async function renewed(
  profiles: Profiles,
  { name, refused }: { name: string; refused: string | undefined },
): Promise<Profile> {
  const profile = await profiles.find(name)
  if (profile === undefined) throw signInAgain(name)
  if (profile.accessToken !== refused && isGood(profile)) return profile
  const tokens = await askForToken(profile.url, renewal(profile)).catch((error: unknown) => {
    throw error instanceof TokenRefused ? signInAgain(name, error) : error
  })
  const next = withTokens(profile, tokens)
  await profiles.put(name, next)
  return next
}

function renewal(profile: Profile): Record<string, string> {
  if (profile.kind === 'program') return byClientSecret(profile.clientId, profile.clientSecret)
  return { grant_type: 'refresh_token', client_id: 'cli', refresh_token: profile.refreshToken }
}

function withTokens(profile: Profile, { accessToken, expires, refreshToken }: Tokens): Profile {
  if (profile.kind === 'program' || refreshToken === undefined) return { ...profile, accessToken, expires }
  return { ...profile, accessToken, expires, refreshToken }
}

function signInAgain(name: string, cause?: TokenRefused): CommandError {
  return new CommandError(`The profile ${name} is not signed in any more.`, {
    exitCode: exitCodes.denied,
    next: `millwright login --profile ${name}`,
    cause,
  })
}

type Program = { url: string; from: string; clientId: string; clientSecret: string }

function asProgram({ url, from, clientId, clientSecret }: Program): Bearer {
  let held: Tokens | undefined
  return {
    url,
    from,
    async token({ fresh } = { fresh: false }) {
      if (fresh || held === undefined || !isGood(held))
        held = await askForToken(url, byClientSecret(clientId, clientSecret))
      return held.accessToken
    },
  }
}

/** On the machine of the platform nobody needs to sign in first, as long as the file of the first start is there. */
async function fromFirstRun({ home }: ClientConfiguration, url: string | undefined): Promise<Bearer | undefined> {
  const file = join(home, 'first-run.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const access: { baseUrl: string; clientId: string; clientSecret: string } = JSON.parse(text)
  const own = platformOrigin(access.baseUrl)
  if (url !== undefined && url !== own) return undefined
  const program = asProgram({ ...access, url: own, from: file })
  return {
    ...program,
    token: (options) =>
      program.token(options).catch((error: unknown) => {
        if (!(error instanceof TokenRefused)) throw error
        throw new CommandError(`${file} is not valid any more.`, {
          exitCode: exitCodes.denied,
          next: `sign in: millwright login ${own}`,
          cause: error,
        })
      }),
  }
}

function refuseUnknown(url: string | undefined): never {
  throw new CommandError(url === undefined ? 'You are not signed in.' : `You are not signed in at ${url}.`, {
    exitCode: exitCodes.denied,
    next: `millwright login ${url ?? 'https://…'}; on the machine of the platform, run it in the folder of npm start`,
  })
}
