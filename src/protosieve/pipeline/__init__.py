"""From files to prototypes: survey, select, weigh; runs that survive."""
