import type { Command } from 'commander'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformOrigin, requirePlatform } from './address.ts'
import { readAuthority, trustAuthority } from './authority.ts'
import { type Profile, Profiles } from './profiles.ts'
import { readClientConfiguration } from './settings.ts'
import { byClientSecret, requestToken, type Tokens } from './token-endpoint.ts'

type Options = { profile?: string; tenant?: string; clientId?: string; authority?: string; browser: boolean }

const thisMachine = 'http://127.0.0.1:8080'

export function addCommands(login: Command, terminal: Terminal): void {
  login
    .argument(
      '[url]',
      `address of the platform (default: MILLWRIGHT_URL, the address in the profile, or ${thisMachine})`,
    )
    .option('--profile <name>', 'name of the profile to create or replace', 'default')
    .option(
      '--tenant <name>',
      'tenant whose identity providers the sign-in page shows (default: the tenant of the profile, or default)',
    )
    .option('--no-browser', 'print the address instead of opening it')
    .option(
      '--client-id <id>',
      'sign in as a service account; the command prompts for the secret, or reads it from standard input',
    )
    .option(
      '--authority <file>',
      'accept certificates of this private authority (PEM); stored in the profile (default: MILLWRIGHT_AUTHORITY)',
    )
    .addHelpText(
      'after',
      `
Users sign in with their browser. Type the password only there. If this machine has no browser, open the printed address on
another machine, and paste the final address of that browser.

Tokens are stored below $XDG_CONFIG_HOME/millwright (~/.config/millwright), in files that only you can read. They are renewed
while you use them. The platform must use https; http is allowed on this machine only.

Programs can use environment variables instead: MILLWRIGHT_URL with MILLWRIGHT_CLIENT_ID and MILLWRIGHT_CLIENT_SECRET, or
with MILLWRIGHT_TOKEN. On the machine of the platform, no sign-in is needed while first-run.json exists.

Examples:
  millwright login https://plant.example
  millwright login https://plant.example --tenant plant-7
  millwright login https://plant.example --authority authority.pem
  millwright login https://plant.example --profile ci --client-id su_… < secret-file`,
    )
    .action((url: string | undefined, options: Options) => signIn(terminal, url, options))
}

async function signIn(terminal: Terminal, address: string | undefined, options: Options): Promise<void> {
  const configuration = await readClientConfiguration(terminal.environment)
  const profiles = new Profiles(configuration)
  const name = options.profile ?? 'default'
  const stored = await profiles.find(name).catch(() => undefined)
  const url = platformOrigin(address ?? configuration.url ?? stored?.url ?? thisMachine)
  const authority = await authorityOf(options.authority ?? configuration.authority, { url, stored })
  trustAuthority(authority)
  const clientId = options.clientId ?? configuration.clientId
  const profile =
    clientId === undefined
      ? await signInUser(terminal, url, { ...options, ...tenantOf(options.tenant, { url, stored }) })
      : await signInServiceAccount(url, {
          clientId,
          clientSecret: await secretOf(terminal, configuration.clientSecret),
        })
  await profiles.put(name, authority === undefined ? profile : { ...profile, authority })
  await profiles.use(name)
  await terminal.print(`Signed in at ${url} as ${profile.name}, profile ${name}.`)
}

/** Returns the authority of the given file. A new sign-in at the same platform keeps the authority of the profile. */
async function authorityOf(
  file: string | undefined,
  { url, stored }: { url: string; stored: Profile | undefined },
): Promise<string | undefined> {
  if (file !== undefined) return readAuthority(file)
  return stored?.url === url ? stored.authority : undefined
}

/** Returns the tenant of the sign-in page. A new sign-in at the same platform uses the tenant of the profile. */
function tenantOf(
  tenant: string | undefined,
  { url, stored }: { url: string; stored: Profile | undefined },
): { tenant?: string } {
  if (tenant !== undefined) return { tenant }
  return stored?.url === url ? { tenant: stored.tenant } : {}
}

async function signInUser(terminal: Terminal, url: string, { browser, tenant }: Options): Promise<Profile> {
  await requirePlatform(url)
  const { signInWithBrowser } = await import('./browser-sign-in.ts')
  const tokens = await signInWithBrowser(terminal, { url, opensBrowser: browser, tenant })
  const { refreshToken } = tokens
  if (refreshToken === undefined) throw new CommandError('The platform returned no refresh token.')
  return { url, ...(await userInfo(url, tokens)), kind: 'person', ...tokens, refreshToken }
}

async function signInServiceAccount(
  url: string,
  credentials: { clientId: string; clientSecret: string },
): Promise<Profile> {
  const tokens = await requestToken(url, byClientSecret(credentials.clientId, credentials.clientSecret))
  return { url, ...(await userInfo(url, tokens)), kind: 'program', ...credentials, ...tokens }
}

/**
 * Reads the client secret from the environment, a prompt or standard input. The secret is not an argument, because
 * other users of the machine can see arguments.
 */
async function secretOf(terminal: Terminal, configured: string | undefined): Promise<string> {
  const secret =
    configured ?? (terminal.isInteractive ? await terminal.promptSecret('Client secret: ') : await terminal.input())
  if (secret.trim() === '') throw usageError('The client secret is empty.', 'pass it on standard input')
  return secret.trim()
}

async function userInfo(url: string, { accessToken }: Tokens): Promise<{ name: string; tenant: string }> {
  const response = await fetch(`${url}/oauth/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })
  if (!response.ok)
    throw new CommandError('The platform rejected the token that it issued.', { exitCode: exitCodes.denied })
  const { preferred_username: name, tenant_name: tenant } = (await response.json()) as Record<string, string>
  return { name: name ?? '', tenant: tenant ?? '' }
}
