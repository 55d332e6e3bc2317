import { arch, hostname, networkInterfaces, release, type } from 'node:os'
import { type GatewayHost, onboardingLimits } from '@millwright/api/onboarding.ts'

/** Returns the name, the operating system and the addresses of the computer on which the gateway runs. */
export function hostFacts(): GatewayHost {
  const addresses = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ internal, address }) => !internal && !isLinkLocal(address))
    .map(({ address }) => address)
  return {
    hostName: hostname().slice(0, 255),
    operatingSystem: `${type()} ${release()} (${arch()})`.slice(0, 128),
    addresses: [...new Set(addresses)].slice(0, onboardingLimits.hostAddresses),
  }
}

function isLinkLocal(address: string): boolean {
  return address.startsWith('169.254.') || /^fe[89ab]/i.test(address)
}
