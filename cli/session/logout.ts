import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'

export function addCommands(logout: Command, terminal: Terminal): void {
  logout
    .option('--profile <name>', 'profile to sign out (default: the current profile)')
    .action(async ({ profile }: { profile?: string }) => {
      const configuration = await readClientConfiguration(terminal.environment)
      const profiles = new Profiles(configuration)
      const name = profile ?? configuration.profile ?? (await profiles.current()) ?? 'default'
      const stored = await profiles.find(name)
      if (stored === undefined) throw usageError(`Profile "${name}" not found.`, 'millwright profiles list')
      const ended = await (stored.kind === 'program' ? revokeToken(stored) : endSession(stored))
      await profiles.remove(name)
      await terminal.print(`Signed out of ${stored.url}, profile ${name}.`)
      if (!ended) terminal.note('The platform is not reachable: tokens of this profile stay valid until they expire.')
    })
}

/** Ends the sign-in session, and so its refresh tokens and access tokens. */
function endSession({ url, refreshToken }: { url: string; refreshToken: string }): Promise<boolean> {
  return post(`${url}/oauth/logout`, { refresh_token: refreshToken })
}

type ServiceAccountTokens = { url: string; clientId: string; clientSecret: string; accessToken: string }

function revokeToken({ url, clientId, clientSecret, accessToken }: ServiceAccountTokens): Promise<boolean> {
  return post(`${url}/oauth/revoke`, { client_id: clientId, client_secret: clientSecret, token: accessToken })
}

async function post(url: string, form: Record<string, string>): Promise<boolean> {
  const request = { method: 'POST', body: new URLSearchParams(form), redirect: 'error' as const }
  const response = await fetch(url, request).catch(() => undefined)
  return response?.ok === true
}
