import { defineLink } from '@millwright/link-sdk/define-link.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties } from './properties.ts'
import { update } from './update.ts'

export const link = defineLink({ manifest, discover, properties, update })
