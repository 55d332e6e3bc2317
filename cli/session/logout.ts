import type { Command } from 'commander'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { readAuthority, trustAuthority } from './authority.ts'
import { Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'
import { endSession, postForm } from './token-endpoint.ts'

export function addCommands(logout: Command, terminal: Terminal): void {
  logout
    .option('--profile <name>', 'profile to sign out (default: the current profile)')
    .action(async ({ profile }: { profile?: string }) => {
      const configuration = await readClientConfiguration(terminal.environment)
      const profiles = new Profiles(configuration)
      const name = profile ?? configuration.profile ?? (await profiles.current()) ?? 'default'
      const stored = await profiles.find(name)
      if (stored === undefined) throw usageError(`Profile "${name}" not found.`, 'millwright profiles list')
      if (configuration.authority !== undefined) trustAuthority(await readAuthority(configuration.authority))
      trustAuthority(stored.authority)
      const ended = await (stored.kind === 'program'
        ? revokeToken(stored)
        : endSession(stored.url, stored.refreshToken))
      await profiles.remove(name)
      await terminal.print(`Signed out of ${stored.url}, profile ${name}.`)
      if (!ended) terminal.note('The platform is not reachable: tokens of this profile stay valid until they expire.')
    })
}

type ServiceAccountTokens = { url: string; clientId: string; clientSecret: string; accessToken: string }

function revokeToken({ url, clientId, clientSecret, accessToken }: ServiceAccountTokens): Promise<boolean> {
  return postForm(`${url}/oauth/revoke`, { client_id: clientId, client_secret: clientSecret, token: accessToken })
}
