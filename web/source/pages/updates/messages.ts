import { messages } from '../../app/language/language.ts'

export const updateMessages = messages({
  en: {
    title: 'Updates',
    subtitle:
      'Artefacts (firmware and other files), and the campaigns that install them on assets through their gateways.',
    plan: 'Plan update',
    upload: 'Upload artefact',
    scan: 'Find with a scan',
    draft: 'Continue draft',
    campaign: 'Open campaign',
  },
  de: {
    title: 'Updates',
    subtitle:
      'Artefakte (Firmware und andere Dateien), und die Kampagnen, die sie über Gateways auf Assets installieren.',
    plan: 'Update planen',
    upload: 'Artefakt hochladen',
    scan: 'Mit einem Suchlauf finden',
    draft: 'Entwurf öffnen',
    campaign: 'Kampagne öffnen',
  },
})
