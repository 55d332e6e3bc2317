import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'

export function campaignHandlers(
  _context: Context,
): Pick<
  Handlers<typeof updates>,
  | 'createCampaign'
  | 'listCampaigns'
  | 'readCampaign'
  | 'updateCampaign'
  | 'deleteCampaign'
  | 'planCampaign'
  | 'startCampaign'
  | 'approveCampaign'
  | 'pauseCampaign'
  | 'resumeCampaign'
  | 'cancelCampaign'
  | 'retryCampaign'
  | 'listDevices'
  | 'listFailures'
  | 'noteJob'
> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    createCampaign: missing,
    listCampaigns: missing,
    readCampaign: missing,
    updateCampaign: missing,
    deleteCampaign: missing,
    planCampaign: missing,
    startCampaign: missing,
    approveCampaign: missing,
    pauseCampaign: missing,
    resumeCampaign: missing,
    cancelCampaign: missing,
    retryCampaign: missing,
    listDevices: missing,
    listFailures: missing,
    noteJob: async () => answer(204),
  }
}
