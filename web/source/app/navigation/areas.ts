import { area as access } from '../../pages/access/area.ts'
import { area as account } from '../../pages/account/area.ts'
import { area as activity } from '../../pages/activity/area.ts'
import { area as assets } from '../../pages/assets/area.ts'
import { area as credentials } from '../../pages/credentials/area.ts'
import { area as discovery } from '../../pages/discovery/area.ts'
import { area as files } from '../../pages/files/area.ts'
import { area as hierarchy } from '../../pages/hierarchy/area.ts'
import { area as inbox } from '../../pages/inbox/area.ts'
import { area as jobs } from '../../pages/jobs/area.ts'
import { area as model } from '../../pages/model/area.ts'
import { area as monitoring } from '../../pages/monitoring/area.ts'
import { area as remoteAccess } from '../../pages/remote-access/area.ts'
import { area as start } from '../../pages/start/area.ts'
import { area as topology } from '../../pages/topology/area.ts'
import { area as updates } from '../../pages/updates/area.ts'
import { area as webhooks } from '../../pages/webhooks/area.ts'
import { area as workflows } from '../../pages/workflows/area.ts'
import type { Area } from './area.ts'

/** All areas of the console, in navigation order. */
export const areas: readonly Area[] = [
  start,
  inbox,
  assets,
  hierarchy,
  topology,
  activity,
  monitoring,
  updates,
  remoteAccess,
  jobs,
  discovery,
  credentials,
  files,
  workflows,
  model,
  access,
  webhooks,
  account,
]
