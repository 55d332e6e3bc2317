import type { onboarding } from '@millwright/api/onboarding.ts'
import { packageName, readGatewayPackage } from '../../platform/downloads/gateway-package.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function packageHandlers({ settings }: Context): Pick<Handlers<typeof onboarding>, 'getGatewayPackage'> {
  return {
    async getGatewayPackage() {
      const { version, bytes, sha256, installerSha256 } = await readGatewayPackage(settings.packageFolder)
      const { baseUrl } = settings
      const hasPrivateAuthority = settings.gatewayAuthority() !== undefined
      return {
        data: {
          version,
          url: `${baseUrl}/downloads/${packageName}`,
          bytes,
          sha256,
          command: installCommand({ baseUrl, installerSha256, hasPrivateAuthority }),
        },
      }
    },
  }
}

type CommandOptions = { baseUrl: string; installerSha256: string; hasPrivateAuthority: boolean }

/**
 * Returns the command for the machine of a new gateway. It downloads the script and runs it only if it has this SHA-256. The
 * script contains the SHA-256 of the archive. So the machine runs only files that the signed-in user has chosen with the command. If the
 * platform has a private authority, the machine does not know it yet. Then the download accepts every certificate: it sends
 * no secret, and the SHA-256 protects the content. The secret in the configuration file is never an argument.
 */
export function installCommand({ baseUrl, installerSha256, hasPrivateAuthority }: CommandOptions): string {
  const url = `'${baseUrl}/downloads/install-gateway.sh'`
  const [curl, wget] = hasPrivateAuthority ? ['curl -fsSk', 'wget -q --no-check-certificate'] : ['curl -fsS', 'wget -q']
  return [
    'f=$(mktemp)',
    `{ ${curl} -o "$f" ${url} || ${wget} -O "$f" ${url}; }`,
    `echo "${installerSha256}  $f" | sha256sum -c -`,
    'sh "$f" --config gateway-config.json',
  ].join(' && ')
}
