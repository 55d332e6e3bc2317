import { join, resolve } from 'node:path'
import { MasterKeys } from './platform/secrets/master-keys.ts'
import { Transit } from './platform/secrets/transit.ts'
import type { CloudConfiguration } from './settings.ts'

/** Opens the configured master keys. If a key is not valid, the start fails here, before any other step. */
export function openMasterKeys(configuration: CloudConfiguration, home: string): Promise<MasterKeys> {
  const { masterKey, previousMasterKeys, masterKeyFile } = configuration
  return MasterKeys.open({
    file: masterKeyFile === undefined ? join(home, 'master.key') : resolve(masterKeyFile),
    environmentKeys: masterKey === undefined ? previousMasterKeys : [masterKey, ...previousMasterKeys],
    transit: transitOf(configuration),
  })
}

function transitOf(configuration: CloudConfiguration): Transit | undefined {
  const { vaultAddress: address, vaultMount: mount, vaultKey: key, vaultNamespace: namespace } = configuration
  if (address === undefined) return undefined
  return new Transit({
    address,
    mount,
    key,
    namespace,
    token: configuration.vaultToken,
    tokenFile: configuration.vaultTokenFile,
  })
}
