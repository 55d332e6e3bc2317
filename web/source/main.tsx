import '@siemens/ix/dist/siemens-ix/siemens-ix.css'
import '@siemens/ix/dist/siemens-ix/theme/classic-dark.css'
import '@siemens/ix/dist/siemens-ix/theme/classic-light.css'
import './styles/frame.css'
import './styles/parts.css'
import './styles/table.css'
import './styles/forms.css'
import './styles/graph.css'
import './styles/work.css'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { applyTheme } from './app/shell/theme.ts'
import { installTrustedTypes } from './app/trusted-types.ts'

installTrustedTypes()
applyTheme('system')
const place = document.getElementById('console')
if (place !== null) createRoot(place).render(<App />)
